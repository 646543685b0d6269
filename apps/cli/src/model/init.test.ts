/** What `model init` says of the data that it was given, and of what stands where its plan goes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCommand } from '#test/run-command';
import { taken } from '../output.js';
import { createProgram } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-init-test-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rows = Array.from({ length: 60 }, (_, i) => {
  const size = 10 + ((i * 37) % 50) / 10;
  const age = i % 9 === 0 ? '' : (i * 7) % 13;
  const color = i % 2 ? 'blue' : 'red';
  return [size, age, color, 1_000 + i, 3_000 + (i % 5), 7, '', i % 3 ? 'plum' : 'fig'].join();
});
writeFileSync(at('fruit.csv'), `size,age,color,no,zip code,same,none,kind\n${rows.join('\n')}\n`);
const init = ['model', 'init', '--from', at('fruit.csv'), '--target', 'kind', '--drop', 'size'];

async function textOf(...args: readonly string[]): Promise<string> {
  const printed = await taken(async () => (await createProgram(args)).parseAsync(['node', 'veritrain', ...args]));
  return printed.map(({ text }) => text).join('\n');
}

it('tells what becomes of each column, and which may not be what was meant', async () => {
  const { json } = await runCommand(...init, '--out', at('plan'));
  const drop = (why: string): object => ({ why, choices: ['drop'] });
  expect(json['columns']).toEqual([
    { name: 'size', use: 'dropped', becomes: 'not read', places: 0, doubt: null },
    ...[
      { name: 'age', becomes: 'number, centered and scaled, and whether it is missing', places: 2, doubt: null },
      { name: 'color', becomes: 'category of 2 values, a place each', places: 2, doubt: null },
      { name: 'no', doubt: drop('counts the rows, as an id does') },
      { name: 'zip code', doubt: { why: 'codes, by its name', choices: ['category', 'drop'] } },
      { name: 'same', doubt: drop('the same in all training rows') },
      { name: 'none', places: 2, doubt: drop('empty in all rows') },
    ].map((one) => expect.objectContaining({ use: 'feature', ...one }) as unknown),
    { name: 'kind', use: 'label', becomes: 'one of 2 classes', places: 0, doubt: null },
  ]);
  const places = (json['columns'] as { places: number }[]).reduce((sum, one) => sum + one.places, 0);
  const header = JSON.parse(readFileSync(at('plan', 'header.json'), 'utf8')) as { features: { shape: number[] } };
  expect([places]).toEqual(header.features.shape);
  const text = await textOf(...init, '--out', at('plan'));
  expect(text).toMatch(/^zip code +number, .*--category 'zip code' makes it categories; --drop 'zip code' leaves/m);
  expect(text).toMatch(/^kind +the label: one of 2 classes$/m);
});

it('says in one line what many columns become', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `x${i}_mm`);
  const cells = (i: number): string => names.map((_, k) => ((i * (k + 3)) % 17) + 0.5).join();
  const lines = Array.from({ length: 40 }, (_, i) => `${cells(i)},${i % 2}`);
  writeFileSync(at('wide.csv'), `${names.join()},y\n${lines.join('\n')}\n`);
  expect(await textOf('model', 'init', '--from', at('wide.csv'), '--out', at('wide'))).toMatch(
    /^x0_mm … x11_mm \(12 columns\) +number, centered and scaled$/m,
  );
});

it('warns of a label that has hardly two rows of one class', async () => {
  const classes = ['model', 'init', '--from', at('fruit.csv'), '--target', 'no', '--task', 'classify'];
  const { json } = await runCommand(...classes, '--out', at('classes'));
  expect(json['notes']).toContainEqual(expect.stringMatching(/^the label has 60 classes in 60 rows.*--task regress/));
  const { json: few } = await runCommand(...init, '--out', at('few'));
  expect(JSON.stringify(few['notes'])).not.toContain('classes in');
});

it('says that a plan is replaced, leaves nothing of it, and never replaces a trained model', async () => {
  const first = await runCommand(...init, '--out', at('again'));
  writeFileSync(at('again', 'start.bin'), '');
  const second = await runCommand(...init, '--out', at('again'));
  expect([first.json['replaced'], second.json['replaced']]).toEqual([false, true]);
  expect(existsSync(at('again', 'start.bin'))).toBe(false);
  expect(await textOf(...init, '--out', at('again'))).toContain('The plan that stood there is replaced.');
  writeFileSync(at('again', 'weights.bin'), '');
  const manifest = readFileSync(at('again', 'manifest.json'));
  const refused = await runCommand(...init, '--out', at('again'));
  expect(refused).toMatchObject({ code: 1, json: { error: { code: 'USAGE', got: at('again', 'weights.bin') } } });
  expect(readFileSync(at('again', 'manifest.json'))).toEqual(manifest);
});

it('keeps a tenth of the rows with a label apart, and takes a share as percent alone', async () => {
  const line = (i: number): string => `${(i * 37) % 50},${i % 20 === 0 ? 'n' : i % 20 === 7 ? 'y' : ''}`;
  writeFileSync(at('few.csv'), `a,label\n${Array.from({ length: 400 }, (_, i) => line(i)).join('\n')}\n`);
  const few = ['model', 'init', '--from', at('few.csv')];
  const { code } = await runCommand(...few, '--out', at('tenth'));
  expect(code).toBe(0);
  const plan = JSON.parse(readFileSync(at('tenth', 'plan.json'), 'utf8')) as { data: object };
  expect(plan.data).toMatchObject({ validation: '4' });
  const refused = await runCommand(...few, '--out', at('share'), '--validation', '0.2');
  expect(refused.json['error']).toMatchObject({
    ...{ code: 'USAGE', expected: '--validation as a share such as 20%, or as a number of rows', got: '0.2' },
  });
});

it('reads a column as a number when asked, in the plan and when the data is sealed by it', async () => {
  const head = Array.from({ length: 64 }, (_, i) => `q${i}`).join();
  const cells = (row: number): string => Array.from({ length: 64 }, (_, i) => (row * 7 + i * i) % 2).join();
  const lines = Array.from({ length: 60 }, (_, row) => `${cells(row)},${'ab'[row % 2]!}`);
  writeFileSync(at('survey.csv'), `${head},label\n${lines.join('\n')}\n`);
  const survey = ['model', 'init', '--from', at('survey.csv'), '--out', at('survey')];
  expect(await textOf(...survey)).toContain('--number of model init');
  const { json } = await runCommand(...survey, '--number', 'q0', 'q1');
  expect((json['columns'] as object[])[2]).toMatchObject({ name: 'q2', becomes: 'number, centered and scaled' });
  const plan = JSON.parse(readFileSync(at('survey', 'plan.json'), 'utf8')) as { data: object };
  expect(plan.data).toMatchObject({ number: ['q0', 'q1'] });
  const manifest = ['--manifest', at('survey', 'manifest.json'), '--data', at('survey.csv')];
  const sealed = await runCommand('dataset', 'seal', ...manifest, '--out', at('sealed'), '--key', at('sealed.key'));
  expect(sealed.code).toBe(0);
  const both = await runCommand(...survey, '--number', 'q0', '--category', 'q0');
  expect(both.json['error']).toMatchObject({ code: 'USAGE', got: 'q0' });
});
