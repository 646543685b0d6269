import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { look, openSource } from '../index.js';
import type { Cell } from '../source.js';

const folder = mkdtempSync(join(tmpdir(), 'data-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Options = Parameters<typeof openSource>[1];

function put(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function rowsOf(path: string, options?: Options): Promise<(readonly Cell[])[]> {
  const rows: (readonly Cell[])[] = [];
  for await (const batch of (await openSource(path, options)).rows()) rows.push(...batch.rows);
  return rows;
}

it('takes a member that is called as a method of every object is', async () => {
  const path = put('names.jsonl', '{"constructor":"Ferrari","__proto__":1,"y":1}\n{"y":2}\n');
  expect(await rowsOf(path)).toEqual([
    ['Ferrari', 1, 1],
    [null, null, 2],
  ]);
  expect((await look(await openSource(path))).columns.map(({ missing }) => missing)).toEqual([1, 1, 0]);
  await expect(openSource(path, { textField: 'toString' })).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { row: 1, column: 'toString' } },
    detail: expect.objectContaining({ got: 'nothing' }),
  });
});

it('refuses a whole number that JSON would round, in a member that is read', async () => {
  const path = put(
    'large.jsonl',
    '{"a":9007199254740992,"t":"9007199254740993 \\" 1"}\n{"a":1,"b":-9007199254740993}\n{"a":1e300}\n',
  );
  await expect(rowsOf(path)).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { row: 2, column: 'b' } },
    detail: { got: '-9007199254740993', action: 'write it as text: "-9007199254740993"' },
  });
  const source = await openSource(path);
  for await (const { rows } of source.rows(undefined, [true, true, false])) {
    expect(rows.map(([a]) => a)).toEqual([2 ** 53, 1, 1e300]);
  }
});

it('passes over a byte order mark before the first line, and takes one further on for text', async () => {
  const path = put('marked.jsonl', '\ufeff{"a":1}\n{"a":"\ufeff"}\n');
  expect(await rowsOf(path)).toEqual([[1], ['\ufeff']]);
  const text = await openSource(put('marked.txt', '\ufeffab\nab\n'), { tokens: 2 });
  expect(text.tokenizer!.decode([2, 3, 4])).toBe('\nab');
  expect(await rowsOf(join(folder, 'marked.txt'), { tokens: 2 })).toEqual([
    [Uint32Array.of(3, 4, 2)],
    [Uint32Array.of(2, 3, 4)],
  ]);
  expect(await rowsOf(put('one.txt', '\ufeffabc'), { tokens: 2 })).toEqual([[Uint32Array.of(2, 3, 4)]]);
});

it.each(['sep=;\r\n', '\ufeffsep=;\n'])('takes the delimiter that %j before a table names', async (lead) => {
  const path = put('sep.csv', `${lead}"a,b";c\r\n1,5;x\r\n2;y\r\n`);
  expect((await openSource(path)).columns.map(({ name }) => name)).toEqual(['a,b', 'c']);
  const cells = [
    ['1,5', 'x'],
    ['2', 'y'],
  ];
  expect(await rowsOf(path)).toEqual(cells);
  expect(await rowsOf(path, { hasNames: false })).toEqual([['a,b', 'c'], ...cells]);
});

it('refuses a row of more bytes than a row may have, whatever they are', async () => {
  const path = put('quotes.csv', `x,y\n1,"${'"'.repeat(17 * 1024 * 1024)}`);
  await expect(rowsOf(path)).rejects.toMatchObject({
    ...{ code: 'DATA_LIMIT', place: { file: 'quotes.csv', row: 1 } },
    detail: expect.objectContaining({ expected: expect.stringMatching(/^rows of at most 16777216 bytes/) }),
  });
});
