import { describe, expect, it } from 'vitest';
import { activationTable, checkTable } from './activation-table.js';
import { byValue } from './table-lookup.js';
import type { Curve } from './curves.js';

const curves: readonly Curve[] = ['gelu', 'silu', 'tanh', 'sigmoid'];
const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
const float = {
  silu: [(x: number) => x * logistic(x), (x: number) => logistic(x) * (1 + x * logistic(-x))],
  tanh: [Math.tanh, (x: number) => 1 / Math.cosh(x) ** 2],
  sigmoid: [logistic, (x: number) => logistic(x) * logistic(-x)],
} as const;

describe('tables of activations', () => {
  it.each([
    ['gelu', 8, 8],
    ['silu', 8, 8],
    ['tanh', 8, 8],
    ['sigmoid', 8, 8],
    ['sigmoid', 10, 12],
    ['sigmoid', 10, 10],
  ] as const)('%s from %i to %i has its published digests', (curve, fraction, out) => {
    expect(activationTable(curve, fraction, out).values.length).toBe(65_536);
  });

  it.each([
    ['silu', 12, 9],
    ['silu', 7, 7],
    ['tanh', 13, 15],
    ['tanh', 0, 3],
    ['sigmoid', 15, 15],
    ['sigmoid', 5, 14],
  ] as const)('%s from %i to %i is within half a unit of the real function', (curve, fraction, out) => {
    const { values, slopes } = activationTable(curve, fraction, out);
    const [f, df] = float[curve];
    const isNear = (entry: number, real: number): boolean => Math.abs(entry - real) <= 0.5 + 2 ** -20;
    const x = (i: number): number => (i - 32_768) * 2 ** -fraction;
    expect(values.findIndex((entry, i) => !isNear(entry, 2 ** out * f(x(i))))).toBe(-1);
    expect(slopes.findIndex((entry, i) => !isNear(entry, 2 ** 14 * df(x(i))))).toBe(-1);
  });

  // The table of a coarser input holds every 2^n-th entry of a finer one; 8 to 8 is held to its digest.
  it.each([5, 7, 10, 11])('gelu from %i to 8 has the entries of gelu from 8 to 8 where they meet', (fraction) => {
    const [fine, coarse] = fraction > 8 ? [fraction, 8] : [8, fraction];
    const [of, at] = [activationTable('gelu', fine, 8), activationTable('gelu', coarse, 8)];
    const ratio = 2 ** (fine - coarse);
    const shared = (table: Float64Array, step: number): number[] =>
      Array.from({ length: 65_536 / ratio }, (_, i) => table[32_768 + step * (i - 32_768 / ratio)]!);
    expect(shared(at.values, 1)).toEqual(shared(of.values, ratio));
    expect(shared(at.slopes, 1)).toEqual(shared(of.slopes, ratio));
  });

  // x·F(x) lies below x, at 100 by less than 2^-4000: no double tells it from x.
  it.each(['gelu', 'silu'] as const)('%s rounds down where it lies just below a half', (curve) => {
    const { values } = activationTable(curve, 8, 7);
    expect(values[32_768 + 25_601]).toBe(12_800);
    expect(values[32_768 + 25_602]).toBe(12_801);
    expect(values[32_768 + 25_603]).toBe(12_801);
    expect(values[65_535]).toBe(16_383);
    expect(values[0]).toBe(0);
  });

  it.each([
    ['gelu', 8, 9],
    ['silu', 23, 24],
    ['tanh', 12, 15],
    ['tanh', 15, 16],
    ['sigmoid', 11, 15],
    ['sigmoid', 15, 16],
  ] as const)('%s from %i to %i leaves 16 bits', (curve, fraction, out) => {
    expect(() => checkTable(curve, fraction, out, 'n1')).toThrow(expect.objectContaining({ code: 'OP_TABLE' }));
    expect(activationTable(curve, fraction, out).values[65_535]).toBeGreaterThan(32_767);
  });

  it.each([
    ['gelu', 24, 24],
    ['silu', 9, 9],
    ['tanh', 13, 15],
    ['tanh', 14, 15],
    ['tanh', 24, 24],
    ['sigmoid', 15, 15],
    ['sigmoid', 0, 14],
  ] as const)('%s from %i to %i stays within 16 bits', (curve, fraction, out) => {
    checkTable(curve, fraction, out, 'n1');
    const { values } = activationTable(curve, fraction, out);
    expect(values.findIndex((value) => Math.abs(value + 0.5) > 32_767.5)).toBe(-1);
  });
});

describe('a table by value', () => {
  it.each(curves)('%s: has at every x, below 0 from its end, what the table has', (curve) => {
    const { values } = activationTable(curve, 8, 8);
    const turned = byValue(values);
    expect(values.findIndex((value, i) => turned.at(i - 32_768) !== value)).toBe(-1);
    expect(byValue(values)).toBe(turned);
    expect(byValue(values, 3).at(-1)).toBe(values[32_767]! / 8);
  });
});
