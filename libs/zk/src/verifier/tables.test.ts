import { describe, expect, it } from 'vitest';
import * as F from '../commit/field/extension.js';
import { evaluate } from '../commit/field/multilinear.js';
import { activationAt, indexAt, valuesAt } from './tables.js';

const point = Array.from({ length: 16 }, (_, k) => ({ c0: BigInt(3 * k + 1) ** 11n, c1: BigInt(7 * k + 2) ** 9n }));

describe('table extensions agree with brute force (libs/zk/SPEC.md §7 F2)', () => {
  const entries = Array.from({ length: 2 ** 16 }, (_, i) => i);

  it('index', () => {
    expect(indexAt(point)).toEqual(evaluate(entries.map(F.fromInteger), point));
  });

  it.each([12, 10])('activation and mask, abits %i', (abits) => {
    const top = 2 ** abits - 1;
    const A = entries.map((i) => F.fromInteger(Math.min(Math.max(i - 2 ** 15, 0), top)));
    const M = entries.map((i) => F.fromInteger(i - 2 ** 15 > 0 && i - 2 ** 15 < top ? 1 : 0));
    expect(activationAt(point, abits)).toEqual({ A: evaluate(A, point), M: evaluate(M, point) });
  });

  it('values', () => {
    const values = entries.slice(0, 512).map((i) => (i * i) % 1000);
    expect(valuesAt(values, point.slice(7))).toEqual(evaluate(values.map(F.fromInteger), point.slice(7)));
  });
});
