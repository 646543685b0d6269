import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { divRound, floorDiv, isqrt, roundShift, tensorIntegers, tensorNumbers } from './index.js';

describe('integer primitives, libs/step/SPEC.md §2', () => {
  it.each<[number, number, number]>([
    [5, 1, 3],
    [-5, 1, -2],
    [6, 2, 2],
    [-6, 2, -1],
    [7, 2, 2],
    [-7, 2, -2],
    [-1, 4, 0],
    [-8, 4, 0],
    [-9, 4, -1],
    [8, 4, 1],
    [1000000, 16, 15],
    [-1000000, 16, -15],
    [3, 0, 3],
    [-3, -4, -48],
  ])('RS(%i, %i) = %i', (x, s, y) => expect(roundShift(BigInt(x), s)).toBe(BigInt(y)));

  it.each<[number, number, number]>([
    [7, 2, 4],
    [-7, 2, -3],
    [5, 3, 2],
    [-5, 3, -2],
    [4, 3, 1],
    [-4, 3, -1],
  ])('DIVR(%i, %i) = %i', (n, d, y) => expect(divRound(BigInt(n), BigInt(d))).toBe(BigInt(y)));

  it('keeps the defining inequalities', () => {
    const any = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
    fc.assert(
      fc.property(any, fc.bigInt({ min: 1n, max: 2n ** 60n }), fc.integer({ min: 1, max: 60 }), (x, d, s) => {
        const q = floorDiv(x, d);
        expect(q * d <= x && x < (q + 1n) * d).toBe(true);
        const twice = 2n * (x - (roundShift(x, s) << BigInt(s)));
        expect(-(1n << BigInt(s)) <= twice && twice < 1n << BigInt(s)).toBe(true);
        const root = isqrt(x < 0n ? -x : x);
        expect(root * root <= (x < 0n ? -x : x) && (x < 0n ? -x : x) < (root + 1n) ** 2n).toBe(true);
      }),
    );
  });
});

describe('integers in float64', () => {
  it('come and go unchanged within ±2^53', () => {
    const edges = [0, -0, 1, -1, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, -(2 ** 32) - 1, 2 ** 53, -(2 ** 53)];
    expect(Array.from(tensorIntegers(Float64Array.from(edges)))).toEqual(edges.map(BigInt));
    fc.assert(
      fc.property(fc.array(fc.maxSafeInteger()), (numbers) => {
        const integers = tensorIntegers(Float64Array.from(numbers));
        expect(Array.from(integers)).toEqual(numbers.map(BigInt));
        expect(tensorNumbers(integers)).toEqual(Float64Array.from(integers, Number));
      }),
    );
  });
});
