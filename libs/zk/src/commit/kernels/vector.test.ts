import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reversedBits } from '../field/reversed-bits.js';
import * as E from '../field/extension.js';
import * as F from '../field/goldilocks.js';
import { eqTable, powers } from '../field/multilinear.js';
import { createEngine, type Mark, type Offset } from './index.js';
import { flatten } from './reference/field.js';
import { sampleBase, sampleExt } from './reference/samples.js';
import { bind, combine } from './reference/sums.js';

const { memory, kernels } = createEngine({ rowLogMax: 4 });
const read = (at: Offset, count: number): bigint[] => [...memory.words(at, count)];
const placeExt = (values: readonly E.Ext[]): Offset => memory.place(flatten(values));
const wordsOut = (count: number): Offset => memory.allocate(8 * count);

let mark: Mark;
beforeEach(() => {
  mark = memory.mark();
});
afterEach(() => memory.release(mark));

const lengths = [1, 2, 3, 64, 1001];

describe('arrays against bigints', () => {
  it.each(lengths)('adds, subtracts and multiplies %i base elements', (n) => {
    const [a, b] = [sampleBase(1, n), sampleBase(2, n)];
    const [atA, atB, out] = [memory.place(a), memory.place(b), wordsOut(n)];
    kernels.sumArrays(atA, atB, n, out);
    expect(read(out, n)).toEqual(a.map((x, i) => F.add(x, b[i]!)));
    kernels.differenceArrays(atA, atB, n, out);
    expect(read(out, n)).toEqual(a.map((x, i) => F.sub(x, b[i]!)));
    kernels.productBase(atA, atB, n, out);
    expect(read(out, n)).toEqual(a.map((x, i) => F.mul(x, b[i]!)));
  });

  it('multiplies every pair of edge values', () => {
    const edges = [0n, 1n, 2n, 7n, 0xfffffffen, 0xffffffffn, 0x100000000n, 2n ** 63n, F.P - 2n, F.P - 1n];
    const pairs = edges.flatMap((a) => edges.map((b) => [a, b] as const));
    const out = wordsOut(pairs.length);
    kernels.productBase(memory.place(pairs.map(([a]) => a)), memory.place(pairs.map(([, b]) => b)), pairs.length, out);
    expect(read(out, pairs.length)).toEqual(pairs.map(([a, b]) => F.mul(a, b)));
  });

  it.each(lengths)('scales %i extension elements', (n) => {
    const [a, b] = [sampleExt(3, n), sampleExt(4, n)];
    const [atA, atB] = [placeExt(a), placeExt(b)];
    const [factor] = sampleExt(5, 1);
    kernels.addScaledExt(atA, placeExt([factor!]), n, atB);
    expect(read(atB, 2 * n)).toEqual(flatten(b.map((y, i) => E.add(y, E.mul(factor!, a[i]!)))));
  });

  it('clears words', () => {
    const at = memory.place([1n, 2n, 3n, 4n]);
    kernels.clear(2, at + 8);
    expect(read(at, 4)).toEqual([1n, 0n, 0n, 4n]);
  });

  it('multiplies outer products in parts', () => {
    const [a, b] = [sampleExt(30, 3), sampleExt(31, 5)];
    const [atA, atB, out] = [placeExt(a), placeExt(b), wordsOut(30)];
    kernels.outerExt(atA, 0, 2, atB, 5, out);
    kernels.outerExt(atA, 2, 3, atB, 5, out);
    expect(read(out, 30)).toEqual(flatten(a.flatMap((x) => b.map((y) => E.mul(x, y)))));
  });

  it('has the product of the specification', () => {
    const out = wordsOut(2);
    kernels.outerExt(memory.place([3n, 5n]), 0, 1, memory.place([11n, F.P - 2n]), 1, out);
    expect(read(out, 2)).toEqual([F.P - 37n, 49n]);
  });

  it.each(lengths)('makes %i powers and adds them', (n) => {
    const [z, factor] = sampleExt(8, 2);
    const [y] = sampleBase(9, 1);
    const out = wordsOut(2 * n);
    kernels.powersExt(placeExt([z!]), n, out);
    const list = powers(z!, n);
    expect(read(out, 2 * n)).toEqual(flatten(list));
    kernels.addPowers(memory.place([y!]), placeExt([factor!]), n, out);
    const added = powers(E.fromInteger(y!), n).map((power, i) => E.add(list[i]!, E.mul(factor!, power)));
    expect(read(out, 2 * n)).toEqual(flatten(added));
  });

  it.each([
    [0, 1],
    [1, 5],
    [3, 8],
    [4, 37],
  ])('adds 2^%i elements in reverse order at %i places, by powers', (m, n) => {
    const [real, imaginary, [s]] = [sampleBase(40, 2 ** m), sampleBase(41, 2 ** m), sampleBase(42, 1)];
    const before = sampleExt(43, n);
    const out = placeExt(before);
    kernels.addReversed(memory.place([s!]), memory.place(real), memory.place(imaginary), m, n, out);
    const scales = powers(E.fromInteger(s!), n);
    const expected = before.map((x, i) => {
      const r = reversedBits(i, m);
      return E.add(x, E.mul(scales[i]!, { c0: real[r]!, c1: imaginary[r]! }));
    });
    expect(read(out, 2 * n)).toEqual(flatten(expected));
  });

  it('reads doubles', () => {
    const integers = [0, 1, -1, 2 ** 53, -(2 ** 53), 32767, -32768];
    const at = memory.allocate(8 * integers.length);
    memory.doubles(at, integers.length).set(integers);
    const out = wordsOut(integers.length);
    kernels.fromDoubles(at, integers.length, out);
    expect(read(out, integers.length)).toEqual(integers.map((x) => F.reduce(BigInt(x))));
  });
});

describe('sums against bigints', () => {
  it.each(lengths)('takes inner products of %i elements', (n) => {
    const [u, v] = [sampleExt(13, n), sampleExt(14, n)];
    const out = wordsOut(2);
    kernels.dotExt(placeExt(u), placeExt(v), n, out);
    expect(read(out, 2)).toEqual(flatten([E.sum(u.map((x, i) => E.mul(x, v[i]!)))]));
  });

  it.each([
    [1, 1, 1],
    [3, 5, 1],
    [1, 4, 7],
    [2, 3, 2],
    [3, 64, 5],
  ])('binds the middle of a tensor %i x %i x %i', (outer, middle, inner) => {
    const base = sampleBase(15, outer * middle * inner);
    const v = sampleExt(17, middle);
    const out = wordsOut(2 * outer * inner);
    kernels.bindBase(memory.place(base), 0, outer, middle, inner, 0, inner, placeExt(v), out);
    const lifted = base.map((x) => E.fromInteger(x));
    expect(read(out, 2 * outer * inner)).toEqual(flatten(bind(lifted, outer, inner, v)));
  });

  it('adds the largest products without wrapping, more of them than one reduction may hold', () => {
    const n = 2 ** 20 + 3;
    const [at, out] = [memory.allocate(16 * n), wordsOut(2)];
    memory.words(at, 2 * n).fill(F.P - 1n);
    kernels.dotExt(at, at, n, out);
    const square = E.square({ c0: F.P - 1n, c1: F.P - 1n });
    expect(read(out, 2)).toEqual(flatten([E.scale(square, BigInt(n))]));
  });

  it.each([1, 2, 9])('combines columns of %i entries', (n) => {
    const columns = [18, 19, 20].map((seed) => sampleBase(seed, n));
    const coefficients = sampleExt(21, 3);
    const [constant] = sampleExt(22, 1);
    const table = memory.placeTable(columns.map((column) => memory.place(column)));
    const out = wordsOut(2 * n);
    kernels.combineColumns(table, placeExt(coefficients), 3, placeExt([constant!]), 0, n, out);
    expect(read(out, 2 * n)).toEqual(flatten(combine(columns, coefficients, constant!)));
  });

  it.each([0, 1, 2, 5])('makes eq tables of %i variables', (n) => {
    const point = sampleExt(23, n);
    const [scale] = sampleExt(24, 1);
    const out = wordsOut(2 ** (n + 1));
    kernels.eqTableExt(placeExt(point), n, placeExt([scale!]), out);
    expect(read(out, 2 ** (n + 1))).toEqual(flatten(eqTable(point).map((x) => E.mul(x, scale!))));
  });

  it('has the eq entries of the specification', () => {
    const out = wordsOut(16);
    kernels.eqTableExt(memory.place([1n, 2n, 3n, 4n, 5n, 6n]), 3, memory.place([1n, 0n]), out);
    expect(read(out, 2)).toEqual([0xfffffffefffffe79n, 0xfffffffefffffea1n]);
    expect(read(out + 112, 2)).toEqual([0x2cbn, 0x194n]);
  });
});
