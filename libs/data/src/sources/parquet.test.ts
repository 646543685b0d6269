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
