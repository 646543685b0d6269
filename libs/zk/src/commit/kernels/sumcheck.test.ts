import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as E from '../field/extension.js';
import type { Ext } from '../field/extension.js';
import { createEngine, type Mark, type Offset } from './index.js';
import { flatten } from './reference/field.js';
import { sampleBase, sampleExt } from './reference/samples.js';
import { fold, fractionLayer, round } from './reference/sumcheck.js';

const { memory, kernels } = createEngine({ rowLogMax: 4 });
const read = (at: Offset, count: number): bigint[] => [...memory.words(at, count)];
const placeExt = (values: readonly Ext[]): Offset => memory.place(flatten(values));
const lift = (values: readonly bigint[]): Ext[] => values.map((x) => E.fromInteger(x));
const shapes = [
  [0, 0],
  [0, 1],
  [1, 0],
  [2, 1],
  [1, 4],
  [0, 5],
] as const;

let mark: Mark;
beforeEach(() => {
  mark = memory.mark();
});
afterEach(() => memory.release(mark));

describe.each(shapes)('rounds with 2^%i blocks of 2^%i', (logHigh, logLow) => {
  const [high, low] = [sampleExt(1, 2 ** logHigh), sampleExt(2, 2 ** logLow)];
  const weights = high.flatMap((h) => low.map((l) => E.mul(h, l)));
  const ones = weights.map(() => E.ONE);
  const half = weights.length;
  const blocks = high.length;

  it('f·g over the extension', () => {
    const [f, g] = [sampleExt(3, 2 * half), sampleExt(4, 2 * half)];
    const [atF, atG, out] = [placeExt(f), placeExt(g), memory.allocate(32)];
    kernels.roundExt(atF, atG, half, placeExt(high), placeExt(low), logLow, 0, blocks, out);
    const weighted = round(weights, [{ f, g, negative: false }]);
    expect(read(out, 4)).toEqual(flatten([weighted.d, weighted.e]));
    kernels.plainRoundExt(atF, atG, half, 0, half, out);
    const plain = round(ones, [{ f, g, negative: false }]);
    expect(read(out, 4)).toEqual(flatten([plain.d, plain.e]));
  });

  it('a0·a1 - b0·b1, in parts', () => {
    const [a0, a1, b0, b1] = [8, 9, 10, 11].map((seed) => sampleExt(seed, 2 * half)) as [Ext[], Ext[], Ext[], Ext[]];
    const arrays = [a0, a1, b0, b1].map(placeExt) as [Offset, Offset, Offset, Offset];
    const [atHigh, atLow, out] = [placeExt(high), placeExt(low), memory.allocate(32)];
    const { d, e } = round(weights, [
      { f: a0, g: a1, negative: false },
      { f: b0, g: b1, negative: true },
    ]);
    kernels.roundFractions(...arrays, half, atHigh, atLow, logLow, 0, blocks, out);
    expect(read(out, 4)).toEqual(flatten([d, e]));
    const [first, second] = [memory.allocate(32), memory.allocate(32)];
    kernels.roundFractions(...arrays, half, atHigh, atLow, logLow, 0, 1, first);
    kernels.roundFractions(...arrays, half, atHigh, atLow, logLow, 1, blocks, second);
    kernels.sumArrays(first, second, 4, out);
    expect(read(out, 4)).toEqual(flatten([d, e]));
  });
});

describe.each([1, 2, 5, 16])('folds and fractions of half length %i', (half) => {
  const [r, lambda] = sampleExt(12, 2) as [Ext, Ext];

  it('folds, also in place', () => {
    const ext = sampleExt(13, 2 * half);
    const [at, atR] = [placeExt(ext), placeExt([r])];
    kernels.foldExt(at, half, atR, 0, half, at);
    expect(read(at, 2 * half)).toEqual(flatten(fold(ext, r)));
  });

  it('builds fraction layers and their factors', () => {
    const [p, q, counts] = [sampleExt(15, 2 * half), sampleExt(16, 2 * half), sampleBase(17, 2 * half)];
    const [outP, outQ] = [memory.allocate(32 * half), memory.allocate(32 * half)];
    const [atQ, atLambda] = [placeExt(q), placeExt([lambda])];
    for (const [numerators, atP, layer] of [
      [p, placeExt(p), kernels.fractionLayer],
      [lift(counts), memory.place(counts), kernels.fractionLeaves],
    ] as const) {
      layer(atP, atQ, half, 0, half, outP, outQ);
      const expected = fractionLayer(numerators, q);
      expect(read(outP, 2 * half)).toEqual(flatten(expected.p));
      expect(read(outQ, 2 * half)).toEqual(flatten(expected.q));
    }
    kernels.fractionFactors(placeExt(p), atQ, atLambda, 0, 2 * half, outP, outQ);
    const scaled = p.map((x) => E.mul(lambda, x));
    expect(read(outQ, 4 * half)).toEqual(flatten(scaled));
    expect(read(outP, 4 * half)).toEqual(flatten(q.map((x, i) => E.add(x, scaled[i]!))));
  });
});
