/** Numbers in the user's own units, from a table through training and other runtimes and back. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelInterface } from '#libs/models';
import { InferenceSession, Tensor } from '#libs/onnx';
import { handMade, type OnnxFile } from '#test/onnx-files';
import { runCommand } from '#test/run-command';
import { taken } from '../output.js';
import { createProgram } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-regression-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const seed = ['--seed', `0x${'5a'.repeat(32)}`];
const timeout = { timeout: 120_000 };

async function veritrain(...args: string[]): Promise<Record<string, unknown>> {
  return (await runCommand(...args)).json;
}

const towns = ['Basel', 'Bern', 'Chur'];
/** Prices of 132,000 to 770,000. */
const houses = Array.from({ length: 120 }, (_, i) => {
  const [size, rooms, town] = [40 + ((i * 37) % 160), 1 + (i % 6), i % 3];
  return { size, rooms, town: towns[town]!, price: 3_000 * size + 20_000 * rooms + 25_000 * town - 8_000 };
});
type House = (typeof houses)[number];
writeFileSync(
  at('houses.csv'),
  `size,rooms,town,price\n${houses.map(({ size, rooms, town, price }) => `${size},${rooms},${town},${price}`).join('\n')}\n`,
);
const data = ['--data', at('houses.csv')];
const predicted = (name: string): readonly number[] =>
  readFileSync(at(name), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[1]));

/** What the file beside the model says of its input, done to whole rows: nothing else is known of it. */
function fed({ input }: ModelInterface, rows: readonly House[]): Float32Array {
  const width = Number(input.shape[1]);
  const values = new Float32Array(rows.length * width);
  rows.forEach((row, i) => {
    for (const { name, from, values: known } of input.columns) {
      const cell = row[name as keyof House];
      if (known === undefined) values[i * width + from] = Number(cell);
      else values[i * width + from + known.indexOf(String(cell))] = 1;
    }
  });
  return values;
}

async function answersOf(model: string, described: string): Promise<readonly number[]> {
  const ends = JSON.parse(readFileSync(described, 'utf8')) as ModelInterface;
  const session = await InferenceSession.create(new Uint8Array(readFileSync(model)));
  const fedWith = new Tensor('float32', fed(ends, houses), [houses.length, Number(ends.input.shape[1])]);
  const outputs = await session.run({ [ends.input.name]: fedWith });
  await session.release();
  return Array.from(outputs[ends.output.name]!.data as Float32Array);
}

let floatDifference: number;
beforeAll(async () => {
  const init = ['model', 'init', '--from', at('houses.csv'), '--target', 'price', '--task', 'regress'];
  await veritrain(...init, '--out', at('plan'), '--epochs', '40', ...seed);
  await veritrain('train', '--manifest', at('plan', 'manifest.json'), ...data, '--out', at('model'));
  floatDifference = Number(
    (await veritrain('predict', '--model', at('model'), ...data, '--out', at('exact.csv')))['floatDifference'],
  );
}, 120_000);

it('tells how far float32 is from the exact answers in their own unit', () => {
  expect(floatDifference).toBeGreaterThan(1);
  expect(floatDifference).toBeLessThan(2_000);
});

describe('an exported model', () => {
  it("takes the user's numbers and answers in the label's own unit, and says so", timeout, async () => {
    const made = await veritrain('model', 'export', '--model', at('model'), ...data, '--out', at('out'));
    expect(made).toMatchObject({
      output: "output [rows, 1]: float32, price in the label's own unit",
      tensors: expect.stringMatching(/header\.json.*\(label - center\)\/scale; center \d+\.\d+, scale \d+/) as unknown,
      check: { records: 120 },
    });
    expect(readdirSync(at('out')).toSorted()).toEqual([
      ...['header.json', 'interface.json', 'model.onnx', 'model.safetensors'],
    ]);
    expect(readFileSync(at('out', 'header.json'))).toEqual(readFileSync(at('model', 'header.json')));
    const exact = predicted('exact.csv');
    const found = await answersOf(at('out', 'model.onnx'), String(made['interface']));
    expect(Math.max(...found.map((value, i) => Math.abs(value - exact[i]!)))).toBeLessThan(2_000);
    expect(Math.abs(found[0]! - houses[0]!.price)).toBeLessThan(60_000);
  });

  it('of the integers of the data set answers in the same unit', timeout, async () => {
    const integers = ['model', 'export', '--model', at('model'), ...data, '--out', at('integers'), '--integers'];
    const made = await veritrain(...integers);
    expect(made).toMatchObject({ input: 'features [rows, 5]: int16, as the data set has them' });
    const { largestDifference, largestOutput } = made['check'] as { largestDifference: number; largestOutput: number };
    expect(largestDifference).toBeLessThan(2_000);
    expect(largestOutput).toBeGreaterThan(500_000);
  });
});

describe('an imported model', () => {
  const from = ['--from', at('houses.csv'), '--target', 'price', '--task', 'regress', ...seed];
  const rmseOf = (imported: Record<string, unknown>): number =>
    (imported['before'] as { metrics: { value: number }[] }).metrics[0]!.value;
  /** The prices themselves, of the user's own numbers. */
  const prices = (graph: OnnxFile, x: string): string => {
    const weights = graph.float32([5, 1], Float32Array.of(3_000, 20_000, 0, 25_000, 50_000));
    return graph.node('Gemm', [x, weights, graph.float32([1], Float32Array.of(-8_000))]);
  };
  const written = (name: string, build: (graph: OnnxFile, x: string) => string): string => {
    writeFileSync(at(name), handMade(['n', 5], build));
    return at(name);
  };

  it("that answers in the label's own unit is exact from the start, and comes back as it was", timeout, async () => {
    const file = written('prices.onnx', prices);
    const imported = await veritrain('model', 'import', file, ...from, '--inputs', 'raw', '--out', at('prices'));
    expect(imported).toMatchObject({
      layers: ['n0 dense'],
      notes: expect.arrayContaining([expect.stringContaining("in the label's own unit")]) as unknown,
      check: { against: file },
    });
    expect(rmseOf(imported)).toBeLessThan(600);
    const { largestDifference, largestOutput } = imported['check'] as Record<string, number>;
    expect(largestOutput).toBeGreaterThan(400_000);
    expect(largestDifference).toBeLessThan(2_000);
    await veritrain('model', 'export', '--model', at('model'), '--out', at('again'));
    const again = ['model', 'import', at('again', 'model.onnx'), ...from, '--inputs', 'raw', '--out', at('third')];
    const back = await veritrain(...again);
    expect((back['check'] as Record<string, number>)['largestDifference']).toBeLessThan(2_000);
    expect(rmseOf(back)).toBeLessThan(40_000);
  });

  it('of our own export is what it was without a word about it, of integers too', timeout, async () => {
    await veritrain('model', 'export', '--model', at('model'), '--out', at('own'));
    await veritrain('model', 'export', '--model', at('model'), '--out', at('own-integers'), '--integers');
    for (const name of ['own', 'own-integers']) {
      const back = await veritrain('model', 'import', at(name, 'model.onnx'), ...from, '--out', at(`${name}-again`));
      expect(rmseOf(back)).toBeLessThan(40_000);
      expect((back['check'] as Record<string, number>)['largestDifference']).toBeLessThan(2_000);
      expect(back).toMatchObject({
        notes: expect.arrayContaining([expect.stringMatching(/^The file says that veritrain exported it/)]) as unknown,
        warnings: [],
      });
    }
  });

  it('that is worse than a constant answer is warned of, with the options to try', timeout, async () => {
    const file = at('own', 'model.onnx');
    const asked = ['model', 'import', file, ...from, '--out', at('ruined'), '--inputs', 'scaled', '--outputs', 'raw'];
    expect(await veritrain(...asked)).toMatchObject({
      warnings: [expect.stringMatching(/^before training rmse is .*, worse than .*--inputs and --outputs/)],
    });
    const [printed] = await taken(async () => (await createProgram(asked)).parseAsync(['node', 'veritrain', ...asked]));
    expect(printed!.text).toMatch(/^warning +before training rmse is/m);
    expect(printed!.text).toContain(`\nNext: veritrain train --manifest ${at('ruined')}/manifest.json --data`);
  });

  it('says what it takes the answers for, and takes them for the other where told', timeout, async () => {
    const { center, scale } = (
      JSON.parse(readFileSync(at('model', 'header.json'), 'utf8')) as {
        label: { columns: [{ center: number; scale: number }] };
      }
    ).label.columns[0];
    const file = written('scaled.onnx', (graph, x) => {
      const centered = graph.node('Sub', [prices(graph, x), graph.number(center)]);
      return graph.node('Div', [centered, graph.number(scale)]);
    });
    const raw = ['model', 'import', file, ...from, '--inputs', 'raw', '--out', at('scaled')];
    const imported = await veritrain(...raw, '--outputs', 'scaled');
    expect(imported['notes']).toContainEqual(expect.stringContaining('say --outputs raw'));
    expect(rmseOf(imported)).toBeLessThan(600);
    expect(rmseOf(await veritrain(...raw))).toBeGreaterThan(100_000);
  });

  it('is refused where no layer can take the unit, with what to do', timeout, async () => {
    for (const op of ['Relu', 'Sigmoid']) {
      const file = written('end.onnx', (graph, x) => graph.node(op, [prices(graph, x)]));
      const refused = await veritrain('model', 'import', file, ...from, '--inputs', 'raw', '--out', at('end'));
      expect(refused).toMatchObject({
        error: { code: 'ONNX_OUTPUT', action: expect.stringContaining('--outputs scaled') as unknown },
      });
    }
  });

  it('of weights that are too large says which, and which option or layer helps', timeout, async () => {
    const refused = async (file: string, ...args: readonly string[]): Promise<Record<string, unknown>> =>
      (await veritrain('model', 'import', file, ...from, ...args, '--out', at('large')))['error'] as never;
    const file = written('large.onnx', prices);
    const [inputs, outputs] = ['say --inputs raw, if the file', 'say --outputs raw, if the file'];
    const both = await refused(file);
    expect(both).toMatchObject({ code: 'MODEL_WEIGHT_RANGE', got: '50000 at [4,0]' });
    expect(both['action']).toMatch(new RegExp(`^${inputs}.*; ${outputs}`));
    expect((await refused(file, '--inputs', 'raw', '--outputs', 'scaled'))['action']).toMatch(
      new RegExp(`^${outputs}`),
    );
    const deep = written('deep.onnx', (graph, x) => {
      const one = (y: string, from: number, to: number, value: number): string =>
        graph.node('Gemm', [y, graph.float32([from, to], new Float32Array(from * to).fill(value))]);
      return one(graph.node('Relu', [one(graph.node('Relu', [one(x, 5, 2, 1)]), 2, 2, 3_000)]), 2, 1, 1e-4);
    });
    expect((await refused(deep))['action']).toMatch(
      /^divide weights and biases of n2 by 16 and multiply .* of n4 by it/,
    );
  });

  it('keeps a sigmoid at the end, which the loss of numbers does not do', timeout, async () => {
    const file = written('share.onnx', (graph, x) => {
      const weights = graph.float32([5, 1], Float32Array.of(0.5, -0.25, 0, 0, 0));
      return graph.node('Sigmoid', [graph.node('MatMul', [x, weights])]);
    });
    const imported = await veritrain('model', 'import', file, ...from, '--out', at('share'));
    expect(imported).toMatchObject({ layers: ['n0 dense', 'n1 sigmoid'] });
  });
});
