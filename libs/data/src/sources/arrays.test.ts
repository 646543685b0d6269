import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeData } from '../index.js';
import type { Cell, DataSource } from '../source.js';
import { arraySource, type ElementType, type StoredArray } from './arrays.js';

const folder = mkdtempSync(join(tmpdir(), 'data-arrays-'));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;

function stored(name: string, type: ElementType, shape: readonly number[], elements: ArrayBufferView): StoredArray {
  const bytes = new Uint8Array(elements.buffer);
  return {
    ...{ name, type, shape },
    async *open(row) {
      yield bytes.subarray((row * bytes.length) / shape[0]!);
    },
  };
}

function sourceOf(...arrays: readonly StoredArray[]): DataSource {
  return arraySource({ kind: 'npz', file: 'a.npz', bytes: 100, fingerprint: String(Math.random()) }, arrays);
}

async function rowsOf(source: DataSource, wanted?: readonly boolean[]): Promise<readonly (readonly Cell[])[]> {
  const rows: (readonly Cell[])[] = [];
  for await (const batch of source.rows(undefined, wanted)) rows.push(...batch.rows);
  return rows;
}

it('refuses a whole number of 64 bits that float64 rounds, in a column that is read', async () => {
  const source = sourceOf(
    stored('x', 'f4', [2, 2], Float32Array.of(1, 2, 3, 4)),
    stored('y', 'i8', [2], BigInt64Array.of(2n ** 53n, -(2n ** 53n) - 1n)),
    stored('z', 'u8', [2], BigUint64Array.of(2n ** 60n, 2n ** 64n - 2048n)),
  );
  await expect(rowsOf(source)).rejects.toMatchObject({
    ...{ code: 'DATA_CELL', place: { file: 'a.npz', row: 2, column: 'y' } },
    detail: { got: '-9007199254740993' },
  });
  expect((await rowsOf(source, [true, true, false, true]))[0]).toEqual([1, 2, 2 ** 53, 2 ** 60]);
});

it.each(['u1', 'i8', 'f4'] as const)('takes an array of %s of one column for one of as many rows', async (type) => {
  const two = { u1: Uint8Array.of(3, 4), i8: BigInt64Array.of(3n, 4n), f4: Float32Array.of(3, 4) }[type];
  const source = sourceOf(stored('y', type, [2, 1], two));
  expect([source.columns, await rowsOf(source)]).toEqual([[{ name: 'y', tensor: null }], [[3], [4]]]);
});

it('makes numbers of whole numbers beside others, and integers of them alone', async () => {
  const x = stored('x', 'u1', [4, 2], Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
  const y = stored('y', 'u1', [4, 1], Uint8Array.of(0, 1, 0, 1));
  const z = stored('z', 'f4', [4, 2], Float32Array.of(1, 2, 3, 4, 5, 6, 7, NaN));
  const of = async (...arrays: readonly StoredArray[]): Promise<unknown> => {
    const request = { source: sourceOf(...arrays), validation: 0, seed: `0x${'5a'.repeat(32)}` };
    const { header } = await describeData({ ...request, folder: join(folder, String(made++)) });
    return [header.features, header.columns.map(({ name, kind }) => `${name} ${kind}`)];
  };
  expect(await of(x, y)).toEqual([{ dtype: 'uint8', shape: [2], frac: 8 }, ['x integer']]);
  expect(await of(x, z, y)).toEqual([
    { dtype: 'int16', shape: [5], frac: 12 },
    ['x number', 'z0 number', 'z1 number', 'z1? missing'],
  ]);
});

it.each(['u1', 'b1'] as const)('says of labels in an array of %s how they become columns', async (type) => {
  const x = stored('x', 'f4', [4, 2], Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8));
  const y = stored('y', type, [4, 3], Uint8Array.of(0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1));
  const request = { source: sourceOf(x, y), validation: 0, seed: `0x${'5a'.repeat(32)}` };
  const choices = { label: ['y'] };
  await expect(describeData({ ...request, choices, folder: join(folder, String(made++)) })).rejects.toMatchObject({
    ...{ code: 'DATA_LABEL' },
    detail: {
      got: '3 of kind integer a row',
      action: expect.stringMatching(/int64.* y0 y1 y2 \(--target or --label\)$/) as unknown,
    },
  });
});

it('refuses an array that has the name of a place of another one', () => {
  const x = stored('x', 'f4', [1, 3], Float32Array.of(1, 2, 3));
  expect(() => sourceOf(x, stored('x1', 'i8', [1], BigInt64Array.of(1n)))).toThrow(
    expect.objectContaining({
      ...{ code: 'DATA_COLUMN_TWICE', place: { file: 'a.npz', column: 'x1' } },
      detail: expect.objectContaining({ action: expect.stringContaining('--arrays x other=x1') }),
    }),
  );
});
