/** Cells and labels beyond 16 bits, as `predict` and as the exported file answer them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelInterface } from '#libs/models';
import { InferenceSession, Tensor } from '#libs/onnx';
import { parseDataHeader, parseNetManifest } from '#libs/step';
import { handMade } from '#test/onnx-files';
import { runCommand } from '#test/run-command';
import { farWords, ownOf } from './exported.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-beyond-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const timeout = { timeout: 120_000 };
const seed = ['--seed', `0x${'5a'.repeat(32)}`];
const veritrain = async (...args: string[]): Promise<Record<string, unknown>> => (await runCommand(...args)).json;

/** Row 300, behind the first 256, has a size and a price of 40 deviations and more. */
const odd = 300;
const rows = Array.from({ length: 400 }, (_, i) => {
  const [size, rooms] = i === odd ? [20_000, 6] : [40 + ((i * 37) % 160), 1 + (i % 6)];
  return { size, rooms, town: ['Basel', 'Bern'][i % 2]!, price: 3_000 * size + 20_000 * rooms + (i % 7) * 1_000 };
});
const names = ['size', 'rooms', 'town', 'price'] as const;
const line = (row: (typeof rows)[number]): string => names.map((name) => String(row[name])).join(',');
writeFileSync(at('houses.csv'), [names.join(','), ...rows.map(line), ''].join('\n'));
const data = ['--data', at('houses.csv')];
const task = ['--target', 'price', '--task', 'regress', ...seed];

let exact: readonly number[];
let deviation: number;
beforeAll(async () => {
  await veritrain('model', 'init', '--from', at('houses.csv'), ...task, '--out', at('plan'), '--epochs', '20');
  await veritrain('train', '--manifest', at('plan', 'manifest.json'), ...data, '--out', at('model'));
  await veritrain('predict', '--model', at('model'), ...data, '--out', at('exact.csv'));
  const lines = readFileSync(at('exact.csv'), 'utf8').trim().split('\n').slice(1);
  exact = lines.map((one) => Number(one.split(',')[1]));
  const { label } = JSON.parse(readFileSync(at('model', 'header.json'), 'utf8')) as {
    label: { columns: [{ scale: number }] };
  };
  deviation = label.columns[0].scale;
}, 120_000);

const endsOf = (of: string): ModelInterface =>
  JSON.parse(readFileSync(at(of, 'interface.json'), 'utf8')) as ModelInterface;

/** Every row as it stands in the table, through the file as it was written. */
async function answersOf(of: string, cellOf: (name: string, value: number) => number): Promise<readonly number[]> {
  const { input } = endsOf(of);
  const width = Number(input.shape[1]);
  const values = new Float64Array(rows.length * width);
  const one = input.type === 'float32' ? 1 : 4_096;
  rows.forEach((row, i) => {
    for (const { name, from, values: known } of input.columns) {
      const cell = row[name as keyof typeof row];
      if (typeof cell === 'number') values[i * width + from] = cellOf(name, cell);
      else values[i * width + from + known!.indexOf(cell)] = one;
    }
  });
  const session = await InferenceSession.create(new Uint8Array(readFileSync(at(of, 'model.onnx'))));
  const given = input.type === 'float32' ? Float32Array.from(values) : Int16Array.from(values);
  const { output } = await session.run({ features: new Tensor(given, [rows.length, width]) });
  await session.release();
  return Array.from(output!.data as Float32Array);
}

const farthest = (found: readonly number[]): number =>
  Math.max(...found.map((value, i) => Math.abs(value - exact[i]!) / deviation));

describe('an exported file', () => {
  it('answers as predict does for cells and answers beyond 16 bits', timeout, async () => {
    const made = await veritrain('model', 'export', '--model', at('model'), ...data, '--out', at('out'));
    expect(farthest(await answersOf('out', (_, value) => value))).toBeLessThan(0.01);
    expect(made['tensors']).toContain('the range in interface.json');
  });

  it('of integers answers so too', timeout, async () => {
    await veritrain('model', 'export', '--model', at('model'), '--out', at('integers'), '--integers');
    const columns = endsOf('integers').input.columns;
    const integerOf = (name: string, value: number): number => {
      const { center, scale } = columns.find((column) => column.name === name)!;
      return Math.min(Math.max(Math.floor(((value - center!) / scale!) * 4_096 + 0.5), -(2 ** 15)), 2 ** 15 - 1);
    };
    expect(farthest(await answersOf('integers', integerOf))).toBeLessThan(0.01);
  });

  it('says the range of each number, and of the answers', () => {
    const { input, output } = endsOf('out');
    for (const { name, center, scale, range } of [...input.columns.filter((one) => one.scale), ...output.columns]) {
      const own = rows.map((row) => row[name as 'price']);
      expect(range![0]).toBeCloseTo(center! - 8 * scale!, 4);
      expect(range![1]).toBeCloseTo(center! + (8 - 2 ** -12) * scale!, 4);
      if (name !== 'rooms') expect(range![1]).toBeLessThan(own[odd]!);
    }
    expect(Math.max(...exact)).toBeLessThanOrEqual(output.columns[0]!.range![1] + 1);
  });

  it('comes back by import', timeout, async () => {
    const file = at('out', 'model.onnx');
    const back = ['model', 'import', file, '--from', at('houses.csv'), ...task, '--inputs', 'raw', '--out', at('back')];
    const imported = await veritrain(...back);
    const { layers } = JSON.parse(readFileSync(at('model', 'manifest.json'), 'utf8')) as { layers: { op: string }[] };
    expect(imported['layers']).toEqual(layers.map(({ op }, i) => `n${i} ${op}`));
    expect((imported['check'] as { largestDifference: number }).largestDifference).toBeLessThan(0.01 * deviation);
  });
});

describe('a net that may leave no range', () => {
  const plan = at('strict-plan', 'manifest.json');
  beforeAll(async () => {
    writeFileSync(at('usual.csv'), [names.join(','), ...rows.filter((_, i) => i !== odd).map(line), ''].join('\n'));
    await veritrain('model', 'init', '--from', at('usual.csv'), ...task, '--out', dirname(plan), '--epochs', '4');
    const manifest = JSON.parse(readFileSync(plan, 'utf8')) as { readonly layers: readonly object[] };
    const layers = [{ ...manifest.layers[0], a: 12 }, ...manifest.layers.slice(1)];
    writeFileSync(plan, JSON.stringify({ ...manifest, overflow: 'fail', layers }));
    await veritrain('train', '--manifest', plan, '--data', at('usual.csv'), '--out', at('strict'));
  }, 120_000);

  it.each(['predict', 'evaluate'])('is cut beyond it in an answer, and %s names the row', timeout, async (command) => {
    const out = command === 'predict' ? ['--out', at('strict.csv')] : [];
    const warningsFor = async (file: string): Promise<unknown> =>
      (await veritrain(command, '--model', at('strict'), '--data', at(file), ...out))['warnings'];
    expect(await warningsFor('usual.csv')).toEqual([]);
    const words = /^row 301 takes n0 to a value of magnitude \d+, which is cut to -32768\.\.32767: a step of training/;
    expect(await warningsFor('houses.csv')).toContainEqual(expect.stringMatching(words));
  });
});

describe('the check of an import', () => {
  const importing = (...more: string[]): string[] => ['model', 'import', ...more, '--from', at('houses.csv'), ...task];
  const largest = async (...args: string[]): Promise<{ records: number; largestDifference: number }> =>
    (await veritrain(...args))['check'] as { records: number; largestDifference: number };

  it("takes cells as they stand, of a file that takes the user's own numbers", timeout, async () => {
    // Every answer is 3,000 for a unit of size: 60,000,000 for the odd row, where integers end at 8 deviations.
    const file = handMade(['n', 4], (graph, x) =>
      graph.node('MatMul', [x, graph.float32([4, 1], Float32Array.of(3_000, 0, 0, 0))]),
    );
    writeFileSync(at('size.onnx'), file);
    const from = importing(at('size.onnx'), '--inputs', 'raw', '--out', at('size-plan'));
    const all = await largest(...from, '--validation', '0');
    expect(all.records).toBe(400);
    expect(all.largestDifference).toBeGreaterThan(deviation);
    const header = JSON.parse(readFileSync(at('size-plan', 'header.json'), 'utf8')) as {
      columns: { name: string; center: number; scale: number }[];
    };
    const { center, scale } = header.columns.find(({ name }) => name === 'size')!;
    expect(all.largestDifference / (3_000 * (20_000 - center - 8 * scale))).toBeCloseTo(1, 2);
  });

  it('of weights alone, takes what the exported file takes', timeout, async () => {
    const plan = ['--layers', at('model', 'manifest.json'), '--validation', '0', '--out', at('weights-plan')];
    await veritrain('model', 'export', '--model', at('model'), '--out', at('out'));
    const { records, largestDifference } = await largest(...importing(at('out', 'model.safetensors'), ...plan));
    expect(records).toBe(400);
    expect(largestDifference).toBeGreaterThan(1);
    expect(largestDifference).toBeLessThan(0.01 * deviation);
  });
});

describe('the check of a file', () => {
  it('takes cells as they stand, not as 16 bits hold them', () => {
    const read = (name: string): unknown => JSON.parse(readFileSync(at('model', name), 'utf8'));
    const [m, header] = [parseNetManifest(read('manifest.json')), parseDataHeader(read('header.json'))];
    const cells: Readonly<Record<string, readonly number[]>> = { size: [20_000, 50], rooms: [NaN, 2] };
    const batch = { count: 2, numbers: (place: number) => Float64Array.from(cells[header.columns[place]!.name]!) };
    const features = Int16Array.of(32_767, 0, 4_096, 0, 0, 0, 0, 4_096);
    const { center } = header.columns[1] as { center: number };
    expect([...ownOf(m, header, batch, features)]).toEqual([20_000, Math.fround(center), 1, 0, 50, 2, 0, 1]);
  });

  it('names a label that float32 does not hold, and what to do', () => {
    const header = parseDataHeader(JSON.parse(readFileSync(at('model', 'header.json'), 'utf8')));
    const far = { records: 256, largestDifference: 64, largestShare: 0.64 } as Parameters<typeof farWords>[0];
    const columns = [{ name: 'time', kind: 'number', center: 1.7e9, scale: 100 }] as const;
    const words = (label: object): string =>
      farWords(far, { ...header, label: { ...header.label, ...label } as typeof header.label }, true).join();
    expect(words({ columns })).toMatch(
      / % of the spread of the label: float32 does not hold the answers for "time": train on/,
    );
    expect(words({})).toContain('numbers within the net');
  });

  it('says how many rows it saw, and warns of answers that are others', timeout, async () => {
    const predict = ['predict', ...data, '--out', at('none.csv'), '--model'];
    expect(await veritrain(...predict, at('model'))).toMatchObject({ floatRows: 256, warnings: [] });
    expect(await veritrain('evaluate', ...data, '--model', at('model'))).toMatchObject({
      floatRows: 256,
      warnings: [],
    });
    // Edges within the net end at 32: a sum of 20 for each room does not fit.
    const file = handMade(['n', 4], (graph, x) => {
      const sum = graph.node('MatMul', [x, graph.float32([4, 1], Float32Array.of(0.1, 20, 0, 0))]);
      return graph.node('MatMul', [sum, graph.float32([1, 1], Float32Array.of(30_000))]);
    });
    writeFileSync(at('wide.onnx'), file);
    const from = ['--from', at('houses.csv'), ...task, '--inputs', 'raw', '--epochs', '1', '--lr', '1e-5'];
    await veritrain('model', 'import', at('wide.onnx'), ...from, '--out', at('wide-plan'));
    await veritrain('train', '--manifest', at('wide-plan', 'manifest.json'), ...data, '--out', at('wide'));
    const warning = expect.stringMatching(/model\.onnx answers up to .* otherwise, .* % of the spread/) as unknown;
    expect(await veritrain(...predict, at('wide'))).toMatchObject({ warnings: [warning] });
    const made = await veritrain('model', 'export', '--model', at('wide'), ...data, '--out', at('wide-out'));
    expect(made).toMatchObject({ check: { records: 400 }, warnings: [warning] });
  });
});
