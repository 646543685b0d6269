import { describe, expect, it } from 'vitest';
import { createEngine, type Offset } from './index.js';
import { subtractOuter, sumProducts } from './reference/doubles.js';
import { sampler } from './reference/samples.js';

const { memory, kernels } = createEngine({ rowLogMax: 4 });

/** Signed integers of at most `bits` bits. */
function integers(seed: number, rows: number, columns: number, bits: number): bigint[][] {
  const next = sampler(seed);
  const one = (): bigint => (next() % 2n ** BigInt(bits)) * (next() % 2n === 0n ? 1n : -1n);
  return Array.from({ length: rows }, () => Array.from({ length: columns }, one));
}

function place(rows: readonly bigint[][], stride: number): Offset {
  const at = memory.allocate(8 * stride * rows.length);
  rows.forEach((row, i) => memory.doubles(at + 8 * stride * i, row.length).set(row.map(Number)));
  return at;
}

function read(at: Offset, rows: number, columns: number, stride: number): bigint[][] {
  return Array.from({ length: rows }, (_, i) => [...memory.doubles(at + 8 * stride * i, columns)].map(BigInt));
}

const transpose = (rows: readonly bigint[][]): bigint[][] => rows[0]!.map((_, k) => rows.map((row) => row[k]!));

describe.each([
  [1, 1, 1],
  [3, 5, 1],
  [2, 7, 2],
  [5, 4, 8],
  [4, 33, 24],
  [3, 16, 13],
])('%i units, %i inputs, batch %i', (units, inputs, batch) => {
  it('sums products with weights in either order, in parts', () => {
    const [w, x] = [integers(1, units, inputs, 24), integers(2, inputs, batch, 16)];
    const start = integers(3, units, batch, 50);
    const expected = sumProducts(w, x, start);
    const stride = batch + 3;
    for (const [weights, unitStride, inputStride] of [
      [place(w, inputs), inputs, 1],
      [place(transpose(w), units), 1, units],
    ] as const) {
      const [atX, out] = [place(x, stride), place(start, batch + 1)];
      for (const [begin, end] of [
        [0, 1],
        [1, units],
      ] as const) {
        kernels.sumProducts(
          ...([weights, unitStride, inputStride, inputs, atX, stride, batch] as const),
          ...([begin, end, out, batch + 1] as const),
        );
      }
      expect(read(out, units, batch, batch + 1)).toEqual(expected);
    }
  });

  it('subtracts outer products, in parts', () => {
    const [a, g] = [integers(4, inputs, batch, 16), integers(5, units, batch, 16)];
    const start = integers(6, inputs, units, 50);
    const out = place(start, units + 2);
    const [atA, atG] = [place(a, batch), place(g, batch + 1)];
    for (const [begin, end] of [
      [0, 1],
      [1, inputs],
    ] as const) {
      kernels.subtractOuter(atA, batch, begin, end, atG, batch + 1, units, batch, 3, out, units + 2);
    }
    expect(read(out, inputs, units, units + 2)).toEqual(subtractOuter(a, g, 3n, start));
  });
});
