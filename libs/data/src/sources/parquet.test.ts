/** Columns of Parquet that nobody can train on, beside others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, expect, it } from 'vitest';
import { encodeWith, importData, openSource, type Choices, type ImportedData } from '../index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-parquet-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'odd.parquet');

async function imported(choices: Choices): Promise<ImportedData> {
  const source = await openSource(path);
  return importData({ source, validation: 4, seed: `0x${'5a'.repeat(32)}`, choices, folder: join(folder, 'work') });
}

/** Beside a number and a class a list, a structure, a number of more than 53 bits and JSON. */
const odd = new Uint8Array(
  parquetWriteBuffer({
    columnData: [
      { name: 'x', data: Array.from({ length: 40 }, (_, i) => i) },
      { name: 'my tags', data: Array.from({ length: 40 }, () => ['a', 'b']) },
      { name: 'at', data: Array.from({ length: 40 }, () => ({ lat: 1 })) },
      { name: 'big', data: Array.from({ length: 40 }, () => 2n ** 60n + 1n) },
      { name: 'json', data: Array.from({ length: 40 }, () => ({ a: 1 })) },
      { name: 'label', data: Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'a' : 'b')) },
    ],
    schema: [
      { name: 'root', num_children: 6 },
      { name: 'x', type: 'DOUBLE', repetition_type: 'REQUIRED' },
      { name: 'my tags', num_children: 1, converted_type: 'LIST', repetition_type: 'OPTIONAL' },
      { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
      { name: 'element', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'at', num_children: 1, repetition_type: 'REQUIRED' },
      { name: 'lat', type: 'DOUBLE', repetition_type: 'REQUIRED' },
      { name: 'big', type: 'INT64', repetition_type: 'REQUIRED' },
      { name: 'json', type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type: 'REQUIRED' },
      { name: 'label', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
    ],
  }),
);
writeFileSync(path, odd);
const unread = ['my tags', 'at', 'big', 'json'];

it('is read beside columns of other kinds where these are dropped, or no model knows them', async () => {
  const { header } = await imported({ drop: unread });
  expect(header.columns.map(({ name }) => name)).toEqual(['x']);
  const source = await openSource(path);
  const encoding = encodeWith(header, source, 'records');
  expect(encoding.ignored).toEqual(unread);
  let rows = 0;
  for await (const { count } of encoding.batches()) rows += count;
  expect(rows).toBe(40);
  await expect(imported({ drop: [...unread, 'label'] })).rejects.toMatchObject({ code: 'DATA_LABEL' });
  await expect(imported({ drop: unread, label: ['big'] })).rejects.toMatchObject({ code: 'DATA_CHOICE' });
});

it.each(unread)('names the column that it cannot read, and how to drop it: %s', async (column) => {
  const drop = unread.filter((other) => other !== column);
  const option = column === 'my tags' ? '--drop "my tags"' : `--drop ${column}`;
  await expect(imported({ drop })).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { file: 'odd.parquet', column } },
    detail: { action: expect.stringContaining(option) as unknown },
  });
});

it('reads decimals as the numbers that a table writes so, and whole ones that float64 would round as they are', async () => {
  const whole = [2n ** 53n + 1n, 12n, -3n, 2n ** 70n];
  const file = join(folder, 'decimals.parquet');
  const decimal = { converted_type: 'DECIMAL', repetition_type: 'OPTIONAL' } as const;
  const bytes = parquetWriteBuffer({
    columnData: [
      { name: 'short', data: [57n, null, -7n, 123456789n] },
      { name: 'long', data: [57n, 10n ** 17n + 1n, -111n, 29n] },
      { name: 'packed', data: [57n, 1n, -111n, 29n] },
      { name: 'whole', data: whole },
    ],
    schema: [
      { name: 'root', num_children: 4 },
      { name: 'short', type: 'INT32', ...decimal, scale: 2, precision: 9 },
      { name: 'long', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...decimal, scale: 2, precision: 38 },
      { name: 'packed', type: 'BYTE_ARRAY', ...decimal, scale: 2, precision: 9 },
      { name: 'whole', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...decimal, scale: 0, precision: 38 },
    ],
  });
  writeFileSync(file, new Uint8Array(bytes));
  const source = await openSource(file);
  const rowsOf = async (wanted?: readonly boolean[]): Promise<unknown[]> => {
    const rows: unknown[] = [];
    for await (const batch of source.rows(undefined, wanted)) rows.push(...batch.rows);
    return rows;
  };
  expect(await rowsOf([true, true, true, false])).toEqual([
    [0.57, 0.57, 0.57, null],
    [null, 1e15, 0.01, null],
    [-0.07, -1.11, -1.11, null],
    [1234567.89, 0.29, 0.29, null],
  ]);
  await expect(rowsOf()).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { row: 1, column: 'whole' }, detail: { got: '9007199254740993' } },
  });
});
