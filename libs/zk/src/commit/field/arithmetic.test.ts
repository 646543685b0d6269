import { describe, expect, it } from 'vitest';
import { bigintArithmetic, compiledArithmetic, P, type Arithmetic, type Ext } from './arithmetic.js';

const edges = [0n, 1n, 2n, 0xffffffffn, 0x100000000n, 2n ** 63n, P - 0x100000000n, P - 2n, P - 1n];

/** Canonical elements from a fixed stream. */
function samples(count: number): bigint[] {
  let value = 0x243f6a8885a308d3n;
  return Array.from({ length: count }, () => {
    value = BigInt.asUintN(64, value * 0x5851f42d4c957f2dn + 0x14057b7ef767814fn);
    return value % P;
  });
}

describe('machine words agree with bigints', () => {
  const compiled = compiledArithmetic()!;
  const values = [...edges, ...samples(100)];

  it.each(['add', 'sub', 'mul'] as const)('%s', (name) => {
    const table = (over: Arithmetic): bigint[] => values.flatMap((a) => values.map((b) => over[name](a, b)));
    expect(table(compiled)).toEqual(table(bigintArithmetic));
  });

  it('multiplies and sums extension elements', () => {
    const elements = values.map((c0, k): Ext => ({ c0, c1: values.at(-1 - k)! }));
    const products = (over: Arithmetic): Ext[] => elements.flatMap((a) => elements.map((b) => over.mulExt(a, b)));
    expect(products(compiled)).toEqual(products(bigintArithmetic));
    const others = elements.slice(3);
    expect(compiled.dot(elements, others)).toEqual(bigintArithmetic.dot(elements, others));
    expect(compiled.dot([], others)).toEqual({ c0: 0n, c1: 0n });
  });

  const words = (count: number): Uint8Array => {
    const view = new DataView(new ArrayBuffer(8 * count));
    for (let k = 0; k < count; k++) view.setBigUint64(8 * k, values[k % values.length]!);
    return new Uint8Array(view.buffer);
  };

  it('weighs messages, in parts and beyond the module’s memory too', () => {
    for (const [count, length] of [
      [3, 5],
      [1, 0],
      [400, 150],
      [2, 40_000],
    ] as const) {
      const weights = Array.from({ length }, (_, k): Ext => ({ c0: values[k % 97]!, c1: values[(k + 5) % 101]! }));
      const messages = Array.from({ length: count }, (_, i) => words(length + 9).subarray(8 * (i % 8)));
      expect(compiled.weigh(messages, weights)).toEqual(bigintArithmetic.weigh(messages, weights));
    }
  });

  it('evaluates polynomials, in parts too', () => {
    for (const count of [0, 1, 7, 20_000]) {
      const coefficients = Array.from({ length: count }, (_, k): Ext => ({
        c0: values[k % values.length]!,
        c1: values[(k + 3) % values.length]!,
      }));
      const points = values.slice(0, 12);
      expect(compiled.horner(coefficients, points)).toEqual(bigintArithmetic.horner(coefficients, points));
    }
  });
});
