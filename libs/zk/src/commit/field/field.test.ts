import { describe, expect, it } from 'vitest';
import { concatBytes } from '#attestation/base';
import { extFromDigest, extBytes, readExt, be64, requireCanonical, weighExt } from './bytes.js';
import * as F from './extension.js';
import { P, inverse, mul, pow, rootOfUnity } from './goldilocks.js';
import {
  bitPoint,
  dot,
  eq,
  eqIndex,
  eqTable,
  evaluate,
  powerWeight,
  powerWeightBase,
  squarings,
} from './multilinear.js';

const ext = (c0: bigint, c1: bigint): F.Ext => ({ c0, c1 });

describe('field (libs/zk/SPEC.md §1 vectors)', () => {
  it('has the published root of unity', () => {
    expect(rootOfUnity(32)).toBe(0x185629dcda58878cn);
    expect(pow(rootOfUnity(5), 32n)).toBe(1n);
    expect(pow(rootOfUnity(5), 16n)).toBe(P - 1n);
  });

  it('multiplies and inverts in the extension', () => {
    expect(F.mul(ext(3n, 5n), ext(11n, P - 2n))).toEqual(ext(P - 37n, 49n));
    expect(F.inverse(ext(3n, 5n))).toEqual(ext(0x831597216a68de13n, 0xd03159714ea68de2n));
    expect(mul(inverse(12345n), 12345n)).toBe(1n);
    const a = ext(0xfffffffe00000000n, 0xffffffff00000000n);
    expect(F.square(a)).toEqual(F.mul(a, a));
  });

  it('builds the eq table', () => {
    const point = [ext(1n, 2n), ext(3n, 4n), ext(5n, 6n)];
    const table = eqTable(point);
    expect(table[0]).toEqual(ext(0xfffffffefffffe79n, 0xfffffffefffffea1n));
    expect(table[7]).toEqual(ext(0x2cbn, 0x194n));
    table.forEach((entry, i) => expect(entry).toEqual(eqIndex(point, i)));
    expect(eq(point, bitPoint(5, 3))).toEqual(table[5]);
  });

  it('evaluates powers like the brute-force extension', () => {
    const y = ext(77n, 5n);
    const point = [ext(9n, 1n), ext(4n, 2n), ext(8n, 8n)];
    const values = Array.from({ length: 8 }, (_, i) => F.pow(y, BigInt(i)));
    expect(powerWeight(y, point)).toEqual(evaluate(values, point));
    const inBase = powerWeight(ext(77n, 0n), point);
    expect(powerWeightBase(squarings(77n, 5), point)).toEqual(inBase);
  });

  it('refuses elements that are not canonical', () => {
    expect(readExt(extBytes(ext(P - 1n, 4n)), 0)).toEqual(ext(P - 1n, 4n));
    expect(() => readExt(new Uint8Array([...be64(P), ...be64(0n)]), 0)).toThrow('STEP_NONCANONICAL');
  });

  it('weighs words and elements, and refuses one that is not canonical', () => {
    const weights = [ext(P - 1n, P - 2n), ext(5n, P - 3n), ext(0n, 1n)];
    const elements = [ext(P - 1n, P - 1n), ext(3n, P - 7n), ext(1n, 2n)];
    const expected = F.sum(weights.map((weight, k) => F.mul(weight, elements[k]!)));
    expect(dot(weights, elements)).toEqual(expected);
    expect(weighExt([concatBytes(...elements.map(extBytes))], weights)).toEqual([expected]);
    const words = [P - 1n, 0n, 12n];
    const scaled = F.sum(weights.map((weight, k) => F.scale(weight, words[k]!)));
    expect(F.weigh([concatBytes(...words.map(be64))], weights)).toEqual([scaled]);
    const tooLarge = concatBytes(be64(0n), be64(P), be64(0n));
    expect(() => requireCanonical(tooLarge)).toThrow('STEP_NONCANONICAL');
  });

  it('reduces digests in two halves', () => {
    expect(extFromDigest(new Uint8Array(32).fill(255))).toEqual(ext((2n ** 128n - 1n) % P, (2n ** 128n - 1n) % P));
  });
});
