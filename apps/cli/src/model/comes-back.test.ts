/** Files that `model export` or a job wrote, imported without a word about what they take and answer with. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { exportOnnx } from '#libs/models';
import { savez } from '#test/npz';
import { runCommand } from '#test/run-command';
import { readModel } from './folder.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-comes-back-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const timeout = { timeout: 120_000 };
const seed = ['--seed', `0x${'5a'.repeat(32)}`];
const veritrain = async (...args: string[]) => (await runCommand(...args)).json;

async function trained(name: string, from: readonly string[], data: string): Promise<void> {
  await veritrain('model', 'init', ...from, '--out', at(`${name}-plan`), '--epochs', '4', ...seed);
  await veritrain('train', '--manifest', at(`${name}-plan`, 'manifest.json'), '--data', data, '--out', at(name));
}

const ownTold = expect.stringMatching(/^The file says that veritrain exported it/) as unknown;

it('take integers of int32, which are no tokens', timeout, async () => {
  const data = at('wide.npz');
  const classes = Array.from({ length: 120 }, (_, i) => i % 2);
  const cells = Int32Array.from(classes.flatMap((one, i) => [one * 40_000, (i % 7) - 40_000]));
  const x = { type: '<i4', shape: [120, 2], bytes: new Uint8Array(cells.buffer) };
  writeFileSync(data, savez({ x, y: { type: '|u1', shape: [120], bytes: Uint8Array.from(classes) } }));
  const from = ['--from', data, '--target', 'y'];
  await trained('wide', from, data);
  const made = await veritrain('model', 'export', '--model', at('wide'), '--data', data, '--out', at('wide-out'));
  expect(made['input']).toContain('int32');
  const back = ['model', 'import', at('wide-out', 'model.onnx'), ...from, ...seed, '--out', at('wide-back')];
  const imported = await veritrain(...back);
  expect(imported).toMatchObject({ notes: expect.arrayContaining([ownTold]) as unknown, warnings: [] });
  const [before, after] = [made, imported].map(({ check }) => check as { largestDifference: number });
  expect(after).toMatchObject({ records: 12, sameAnswers: { same: 12, of: 12 } });
  expect(after!.largestDifference).toBeLessThanOrEqual(before!.largestDifference);
  // Of a stranger's file, which says nothing of itself, the option does.
  const stranger = at('stranger.onnx');
  const text = Buffer.from(readFileSync(at('wide-out', 'model.onnx')));
  writeFileSync(stranger, text.fill('stranger!', text.indexOf('veritrain'), text.indexOf('veritrain') + 9));
  const other = ['model', 'import', stranger, ...from, ...seed, '--out', at('wide-stranger')];
  expect(await veritrain(...other)).toMatchObject({
    error: { code: 'MODEL_INPUT', action: expect.stringContaining('--inputs raw') as unknown },
  });
  expect(await veritrain(...other, '--inputs', 'raw')).toMatchObject({ warnings: [] });
});

it('answer with the label as the data set scales it, where no header was there to say otherwise', timeout, async () => {
  const data = at('houses.csv');
  const rows = Array.from({ length: 120 }, (_, i) => `${i % 40},${i % 6},${3_000 * (i % 40) + 20_000 * (i % 6)}`);
  writeFileSync(data, `size,rooms,price\n${rows.join('\n')}\n`);
  const from = ['--from', data, '--target', 'price', '--task', 'regress'];
  await trained('houses', from, data);
  const { manifest, parameters } = readModel(at('houses'));
  writeFileSync(at('bare.onnx'), exportOnnx(manifest, parameters));
  const imported = await veritrain('model', 'import', at('bare.onnx'), ...from, ...seed, '--out', at('bare'));
  expect(imported).toMatchObject({
    notes: expect.arrayContaining([ownTold, expect.stringContaining('centered and scaled')]) as unknown,
    warnings: [],
  });
  const { metrics } = imported['before'] as { metrics: { value: number }[] };
  const own = await veritrain('evaluate', '--model', at('houses'), '--data', data);
  expect(metrics[0]!.value).toBeLessThan(1.5 * (own['metrics'] as { value: number }[])[0]!.value);
});
