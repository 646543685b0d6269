/** What a working folder holds of an import that was broken off, and who may go on from it. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { afterAll, describe, expect, it } from 'vitest';
import { importData, openSource, type Choices, type ImportedData } from './index.js';
import type { Mark } from './source.js';

const folder = mkdtempSync(join(tmpdir(), 'resumed-'));
afterAll(() => rmSync(folder, { recursive: true }));
const seed = `0x${'5a'.repeat(32)}`;

async function recordsOf({ train, validation }: ImportedData): Promise<Buffer> {
  const parts = [train, ...(validation === null ? [] : [validation])].map(({ path }) => readFile(path));
  return Buffer.concat(await Promise.all(parts));
}

const table = join(folder, 'table.csv');
writeFileSync(table, `x,y\n${Array.from({ length: 20_000 }, (_, i) => `${i},${(i * 37) % 1000}`).join('\n')}\n`);

/** @param stage at which it is broken off; absent: it goes to its end */
async function read(work: string, choices: Choices, stage?: string): Promise<ImportedData> {
  const onProgress = (progress: { stage: string }): void => {
    if (progress.stage === stage) throw new Error('broken off');
  };
  const source = await openSource(table);
  return importData({ source, validation: 100, seed, choices, folder: join(folder, work) }, { onProgress });
}

it.each([
  ['encode', 'read'],
  [undefined, 'shuffle'],
])('is not mixed with another one: after %s, the other up to %s', async (stage, other) => {
  const [own, others]: Choices[] = [
    { label: ['y'], task: 'real' },
    { label: ['x'], task: 'real' },
  ];
  const work = `before ${other}`;
  await read(work, own!, stage).catch(() => undefined);
  await expect(read(work, others!, other)).rejects.toThrow('broken off');
  const again = await read(work, own!);
  const whole = await read('undisturbed', own!);
  expect(again.header).toEqual(whole.header);
  expect((await recordsOf(again)).equals(await recordsOf(whole))).toBe(true);
});

describe('pictures that changed since', () => {
  const pictures = join(folder, 'pictures');
  const labels = join(folder, 'labels.csv');
  const count = 6;
  const put = (at: number, shade: number): void => {
    const png = new PNG({ width: 2, height: 2 });
    for (let i = 0; i < 16; i++) png.data[i] = i % 4 === 3 ? 255 : shade;
    writeFileSync(join(pictures, `${at}.png`), PNG.sync.write(png, { colorType: 0 }));
  };
  const name = (classes: string): void =>
    writeFileSync(labels, `file,label\n${[...classes].map((label, at) => `${at}.png,${label}`).join('\n')}\n`);
  const seal = async (): Promise<Buffer> => {
    const source = await openSource(pictures, { labels });
    return recordsOf(await importData({ source, validation: 1, seed, folder: join(folder, 'of pictures') }));
  };
  mkdirSync(pictures);
  for (let at = 0; at < count; at++) put(at, 40 * at);

  it('are read anew, where a label of the table is another', async () => {
    name('aabbab');
    const before = await seal();
    name('aabaab');
    const after = await seal();
    expect(after.filter((byte, at) => byte !== before[at])).toHaveLength(1);
    expect(await seal()).toEqual(after);
  });

  it('are read anew, where a link leads to another one or to what is another now', async () => {
    const [one, other] = ['one.kept', 'other.kept'];
    put(3, 250);
    renameSync(join(pictures, '3.png'), join(pictures, one));
    put(3, 130);
    renameSync(join(pictures, '3.png'), join(pictures, other));
    symlinkSync(one, join(pictures, '3.png'));
    const seals = [await seal()];
    put(6, 90);
    renameSync(join(pictures, '6.png'), join(pictures, one));
    seals.push(await seal());
    rmSync(join(pictures, '3.png'));
    symlinkSync(other, join(pictures, '3.png'));
    seals.push(await seal());
    const found = [250, 90, 130].map((shade, at) => seals[at]!.includes(shade));
    expect(found).toEqual([true, true, true]);
    rmSync(join(pictures, '3.png'));
    put(3, 120);
  });

  it('are read anew, where one of them is another', async () => {
    const before = await seal();
    put(3, 250);
    const after = await seal();
    expect(after.filter((byte, at) => byte !== before[at])).toHaveLength(4);
  });
});

it.each([
  ['csv', (row: number) => `${row},${'a'.repeat(100)}`],
  ['jsonl', (row: number) => JSON.stringify({ x: row, t: 'a'.repeat(100) })],
])('counts blank lines of %s before the place where it goes on, too', async (ending, line) => {
  const path = join(folder, `blank.${ending}`);
  const lines = Array.from({ length: 3000 }, (_, row) => (row % 100 === 5 ? '' : line(row)));
  writeFileSync(path, `${ending === 'csv' ? 'x,t\n' : ''}${lines.join('\n')}\n`);
  const marks: Mark[] = [];
  for await (const { next } of (await openSource(path)).rows()) marks.push(next);
  expect(marks.length).toBeGreaterThan(2);
  for (const mark of marks) {
    const source = await openSource(path);
    for await (const _ of source.rows(mark));
    expect(source.notes()).toEqual(['30 blank lines were passed over']);
  }
});
