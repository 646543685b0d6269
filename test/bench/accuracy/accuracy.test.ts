/** The accuracy bench on its smallest rows, and its metrics. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parseNetManifest } from '#libs/step';
import { vectorFolder } from '#test/fxt2';
import { run } from '../accuracy.bench.js';
import { floatCount, shown } from './measures.js';
import type { Part } from './task.js';
import { tasks } from './tasks.js';

const options = { peers: false };

it('trains a row twice, and holds its bar', async () => {
  const results = await run({ ...options, rows: ['penguins'] });
  const [exact, float, worse] = results.map(({ median }) => median);
  expect(exact).toBeGreaterThan(96);
  expect(worse).toBeCloseTo(float! - exact!, 3);
  expect(results.map(({ holds }) => holds)).toEqual([undefined, undefined, true, undefined]);
});

it('says which data a row lacks', async () => {
  vi.stubEnv('VERITRAIN_BENCH_DATA', '/nowhere');
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const [only, ...others] = await run({ ...options, rows: ['boston'] });
  expect(others).toEqual([]);
  expect(only).toMatchObject({ n: 0, skipped: expect.stringContaining('boston.csv is not in /nowhere') as string });
  expect(said).toHaveBeenCalledWith(expect.stringContaining('accuracy boston: SKIPPED'));
});

it.each(['transformer-2', 'transformer-6', 'lora'])('trains %s with the `beta2` that is planned for text', (row) => {
  const parts = tasks.find(({ name }) => name === row)!.parts(1 / 50);
  for (const { manifest, base } of parts) {
    expect(manifest.optimizer).toMatchObject({ beta2: [3, 8] });
    if (base !== undefined) expect(base.manifest.optimizer).toMatchObject({ beta2: [3, 8] });
  }
});

describe.skipIf(vectorFolder() === undefined)('the CNN of the bench', () => {
  it('is the one whose final digest is published', () => {
    const { data: _, ...json } = JSON.parse(
      readFileSync(join(vectorFolder()!, 'acc-mnist-cnn.json'), 'utf8'),
    ) as object & {
      data: unknown;
    };
    const [{ manifest }] = tasks.find(({ name }) => name === 'mnist-cnn')!.parts(1) as [Part];
    expect({ ...manifest, evaluate: null }).toEqual(parseNetManifest(json));
  });
});

describe('metrics of real outputs', () => {
  const of = (output: object, loss: object, labelShape: readonly number[], labels: readonly number[]): Part => {
    const manifest = parseNetManifest({
      ...{ fxt: 2, seed: `0x${'00'.repeat(32)}`, batch: 1, steps: 1, a: 8, g: 12, wint: 3, labelShape, loss },
      ...{ input: { shape: [2], dtype: 'int16', frac: 12 }, layers: [{ op: 'dense', ...output }] },
      optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 1]] } },
    });
    const examples = { count: 2, features: new Int16Array(4), labels: Int32Array.from(labels) };
    return { manifest, examples, test: examples, unit: 10 };
  };
  const classes = of({ out: 2 }, { kind: 'softmax-ce', E: 12, k: 28 }, [], [0, 1]);

  it('counts classes, and the loss of each', () => {
    const outputs = Float32Array.of(0, Math.log(3), 0, Math.log(3));
    expect(shown('accuracy', [floatCount('accuracy', classes, outputs)])).toBe(50);
    expect(shown('perplexity', [floatCount('perplexity', classes, outputs)])).toBeCloseTo(Math.sqrt(4 * (4 / 3)), 5);
  });

  it('counts labels by their sign, and errors in the unit of the target', () => {
    const bits = of({ out: 1, a: 10 }, { kind: 'sigmoid-bce' }, [1], [1, 0]);
    expect(shown('label-accuracy', [floatCount('label-accuracy', bits, Float32Array.of(2, 1))])).toBe(50);
    const reals = of({ out: 1, a: 12 }, { kind: 'mse' }, [1], [4096, -4096]);
    expect(shown('rmse', [floatCount('rmse', reals, Float32Array.of(1.5, -1))])).toBeCloseTo(10 * Math.sqrt(0.125), 5);
  });
});
