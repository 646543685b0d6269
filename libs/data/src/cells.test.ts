import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { DataHeader } from '#libs/step';
import { nameOf, numberOf } from './cells.js';
import { encodeWith, importData, openSource } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-cells-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function labelsOf(header: DataHeader, text: string): Promise<readonly number[]> {
  const path = join(folder, 'new.csv');
  writeFileSync(path, text);
  const labels: number[] = [];
  for await (const { count, bytes } of encodeWith(header, await openSource(path), 'records').batches()) {
    const size = bytes.length / count;
    for (let row = 0; row < count; row++) labels.push(bytes[(row + 1) * size - 1]!);
  }
  return labels;
}

it('names a whole number the same with a fraction of zeros, and no other number otherwise', () => {
  const same = ['1.0', '1.', ' 1.00 ', '-3.0', '-0.0', '0.0', 1, '007.0'].map(nameOf);
  expect(same).toEqual(['1', '1', '1', '-3', '0', '0', '1', '007']);
  const kept = ['1.50', '3.10', '1.0.0', 'v1.0', '007', '1e0', '.0', '-0'];
  expect(kept.map(nameOf)).toEqual(kept);
});

it('tells at once that a cell of a million digits is no number', () => {
  const began = Date.now();
  for (const [first, last] of [
    ['', 'x'],
    ['1.', '-'],
    ['1e', '.'],
    ['-.', ' 1'],
  ]) {
    expect(numberOf(`${first}${'1'.repeat(1_000_000)}${last}`)).toBe(null);
  }
  expect(Date.now() - began).toBeLessThan(2000);
  expect([' 1. ', '+.5', '1.5e-3', '-0', '1e400', '.', '1e', '1 2', ''].map(numberOf)).toEqual([
    ...[1, 0.5, 0.0015, -0],
    ...[null, null, null, null, null],
  ]);
});

it('takes 1 and 1.0 for one class, in training and in new data, and keeps what a header from before has', async () => {
  const path = join(folder, 'a.csv');
  const line = (i: number): string => `${i},${i % 3 ? ['1', '1.0'][i % 2]! : ['0', '0.0'][i % 2]!}`;
  writeFileSync(path, `x,label\n${Array.from({ length: 30 }, (_, i) => line(i)).join('\n')}\n`);
  const request = { source: await openSource(path), validation: 0, seed: `0x${'5a'.repeat(32)}` };
  const { header } = await importData({ ...request, folder: join(folder, 'w') });
  expect(header.label).toMatchObject({ classes: 2, columns: [{ values: ['0', '1'] }] });
  const cells = 'x,label\n1,1.0\n1,1\n1,0.0\n1,0\n';
  expect(await labelsOf(header, cells)).toEqual([1, 1, 0, 0]);
  const before = (...values: string[]): DataHeader => ({
    ...header,
    label: { kind: 'class', classes: values.length, columns: [{ name: 'label', kind: 'category', values }] },
  });
  expect(await labelsOf(before('0.0', '1.0'), cells)).toEqual([1, 1, 0, 0]);
  expect(await labelsOf(before('0', '0.0', '1', '1.0'), cells)).toEqual([3, 2, 1, 0]);
});

it('takes other forms of Unicode and other spellings of booleans for the same, and says which class is unknown', async () => {
  const path = join(folder, 'form.csv');
  writeFileSync(path, 'member,label\nfalse,caf\u00e9\ntrue,dog\n');
  const request = { source: await openSource(path), validation: 0, seed: `0x${'5a'.repeat(32)}` };
  const { header } = await importData({ ...request, folder: join(folder, 'form') });
  expect(await labelsOf(header, 'member,label\nTrue,cafe\u0301\nFALSE,dog\n')).toEqual([0, 1]);
  writeFileSync(path, 'member\nTrue\nFALSE\nfalse\nno\n');
  const encoding = encodeWith(header, await openSource(path), 'features');
  const features: number[] = [];
  for await (const { bytes } of encoding.batches()) features.push(...new Int16Array(bytes.slice().buffer));
  expect(features).toEqual([0, 4096, 4096, 0, 4096, 0, 0, 0]);
  expect(encoding.report()).toMatchObject([{ unseen: 1, unseenValues: ['no'] }]);
  for (const [names, what] of [
    ['member', 'features'],
    ['member,label', 'records'],
  ] as const) {
    writeFileSync(path, `${names}\n`);
    const none = encodeWith(header, await openSource(path), what)
      .batches()
      [Symbol.asyncIterator]();
    await expect(none.next()).rejects.toMatchObject({ code: 'DATA_EMPTY', detail: { got: 'none' } });
  }
  await expect(labelsOf(header, 'member,label\ntrue,cat\n')).rejects.toMatchObject({
    ...{ code: 'DATA_LABEL', place: { row: 1, column: 'label' } },
    detail: { got: 'cat', action: expect.stringContaining('does not know') },
  });
});

it('hands out numbers as the file has them, beside the integers of 16 bits', async () => {
  const path = join(folder, 'numbers.csv');
  writeFileSync(path, 'a,b\n1e6,x\n,y\n-2.5,x\n');
  const header: DataHeader = {
    ...{ layout: 2, features: { dtype: 'int16', shape: [3], frac: 12 }, split: 'given', tokenizer: null },
    columns: [
      { kind: 'category', name: 'b', values: ['x', 'y'] },
      { kind: 'number', name: 'a', center: 0, scale: 1 },
    ],
    label: { kind: 'class', classes: 2, columns: [] },
  };
  const [found, integers]: [number[], number[]] = [[], []];
  for await (const { count, bytes, numbers } of encodeWith(header, await openSource(path), 'features').batches()) {
    found.push(...numbers(1, count));
    expect([...numbers(1, 1)]).toEqual([found.at(-count)]);
    const values = new Int16Array(bytes.buffer, bytes.byteOffset, 3 * count);
    integers.push(...values.filter((_, place) => place % 3 === 2));
  }
  expect(found).toEqual([1e6, NaN, -2.5]);
  expect(integers).toEqual([32_767, 0, -10_240]);
});
