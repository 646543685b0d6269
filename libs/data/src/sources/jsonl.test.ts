import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { importData, openSource } from '../index.js';
import type { Cell } from '../source.js';

const folder = mkdtempSync(join(tmpdir(), 'jsonl-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function rowsOf(
  lines: readonly string[],
  wanted?: readonly boolean[],
  options = {},
): Promise<(readonly Cell[])[]> {
  const path = join(folder, 'data.jsonl');
  writeFileSync(path, lines.join('\n'));
  const rows: (readonly Cell[])[] = [];
  for await (const batch of (await openSource(path, options)).rows(undefined, wanted)) rows.push(...batch.rows);
  return rows;
}

it('refuses a member that stands twice in an object, and takes names that are alike elsewhere', async () => {
  const twice = ['{"x":1,"y":2}', String.raw`{"x":1,"y":2,"\u0078":3}`];
  const refusal = { code: 'DATA_COLUMN_TWICE', place: { file: 'data.jsonl', row: 2, column: 'x' } };
  await expect(rowsOf(twice)).rejects.toMatchObject(refusal);
  await expect(rowsOf(['{"text":"a","text":"b"}'], undefined, { textField: 'text' })).rejects.toMatchObject({
    ...{ code: 'DATA_COLUMN_TWICE', place: { row: 1, column: 'text' } },
  });
  const nested = String.raw`{"x" :{"x":1,"a":["x","x"]}, "\"y\\": "\"x\":", "z":"[{\\"}`;
  expect(await rowsOf([nested])).toEqual([['{"x":1,"a":["x","x"]}', '"x":', '[{\\']]);
});

it('refuses numbers that are rounded and what is nested too deep, by row and column, however long the line is', async () => {
  const rounded = [`{"x":12345678901234567890,"t":"${'a'.repeat(12_000_000)}"}`];
  await expect(rowsOf(rounded)).rejects.toMatchObject({ code: 'DATA_CELL', place: { row: 1, column: 'x' } });
  const deep = [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)},"y":1}`];
  await expect(rowsOf(deep)).rejects.toMatchObject({ code: 'DATA_CELL', place: { row: 1, column: 'a' } });
  expect(await rowsOf(deep, [false, true])).toEqual([[null, 1]]);
});

it('reads a line of many MiB in a time that does not grow with its square', async () => {
  const lines = [0, 1].map((i) => `{"t":"${String(i).repeat(6_000_000)}","y":${i}}`);
  const concat = vi.spyOn(Buffer, 'concat');
  const rows = await rowsOf(lines);
  const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
  concat.mockRestore();
  expect(rows).toEqual([0, 1].map((i) => [String(i).repeat(6_000_000), i]));
  // The first line is read for the names too.
  expect(copied).toBeLessThan(4 * 6_000_000);
});

it('refuses a category that no header can hold, by row and column', async () => {
  const path = join(folder, 'half.jsonl');
  const line = (row: number): string => `{"x":${row},"t":"${row === 5 ? String.raw`\ud83d` : 'a'}","y":${row % 2}}`;
  writeFileSync(path, Array.from({ length: 20 }, (_, row) => line(row)).join('\n'));
  const asked = { validation: 0, seed: `0x${'5a'.repeat(32)}`, folder: join(folder, 'work') };
  await expect(importData({ ...asked, source: await openSource(path) })).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { file: 'half.jsonl', row: 6, column: 't' } },
  });
});
