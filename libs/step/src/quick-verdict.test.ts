import { describe, expect, it } from 'vitest';
import { guardTable, profileManifest, quickVerdict, type QuickCall } from './index.js';

const seed = `0x${'11'.repeat(32)}`;
const m = profileManifest('fx1', { dims: [6, 3, 2], batch: 4, e: 8, m: [[0, 2]], steps: 10, seed });
const isSure = quickVerdict(m, 'attested');
// fx1: w_1 = 26, w_2 = 24, biases 18, wint 2.
const limits = { W1: 2 ** 28 - 1, b1: 2 ** 20 - 1, W2: 2 ** 26 - 1, b2: 2 ** 20 - 1 };

interface Numbers {
  readonly before: Record<string, number>;
  readonly outputs: Record<string, number[]>;
}

/** Three steps well inside every range. */
const calm = (): Numbers => ({
  before: { W1: 5_000_000, b1: 40, b2: 90 },
  outputs: {
    'high.Y1': [200, 300, 250],
    'low.Y1': [-200, -300, -100],
    'high.Y2': [900, 800, 700],
    'low.Y2': [-900, -1000, -700],
    'sum.G1': [20, 0, 7, 30, 1, 2, 5, 5, 5],
    'sum.G2': [800, 900, 700, 600, 500, 400],
    'max.W2': [3_000_000, 3_000_100, 3_000_200],
    'most.W1': [5_010_000],
    'most.b1': [60],
    'most.b2': [1500],
  },
});

function verdict(change: (numbers: Numbers) => void, stepSizes = Float64Array.of(2, 2, 2)): boolean {
  const numbers = calm();
  change(numbers);
  const call: QuickCall = {
    stepSizes,
    before: numbers.before,
    output: (name) => Float64Array.from(numbers.outputs[name]!),
  };
  return isSure(call);
}

describe('the verdict on a call of the quick graph', () => {
  it('is sure of a calm call', () => {
    expect(verdict(() => undefined)).toBe(true);
  });

  it.each([
    ['high.Y1', 2 ** 12 - 2],
    ['high.Y2', 2 ** 15 - 1],
    ['sum.G1', 2 ** 15 - 1],
    ['max.W2', limits.W2],
  ])('goes by the limit of %s', (name, limit) => {
    for (const step of [0, 2]) {
      expect(verdict(({ outputs }) => (outputs[name]![step] = limit))).toBe(true);
      expect(verdict(({ outputs }) => (outputs[name]![step] = limit + 1))).toBe(false);
    }
  });

  it.each(['low.Y1', 'low.Y2'])('goes by the limit of %s', (name) => {
    expect(verdict(({ outputs }) => (outputs[name]![1] = -(2 ** 15) + 1))).toBe(true);
    expect(verdict(({ outputs }) => (outputs[name]![1] = -(2 ** 15)))).toBe(false);
  });

  it('is not sure where a sum may leave the integers of float32', () => {
    const sums = (sum: number) =>
      verdict(
        ({ outputs }) => (outputs['sum.G1']![4] = sum),
        Float64Array.of(2, 2, 2).map((size) => size * 4),
      );
    expect(8 * 255 * 8224).toBeLessThan(2 ** 24);
    expect(sums(8224)).toBe(true);
    expect(8 * 255 * 8225).toBeGreaterThan(2 ** 24);
    expect(sums(8225)).toBe(false);
  });

  it.each([
    ['W1', 2 * 255 * 20, 2 * 255 * 30, 2 * 255 * 5],
    ['b1', 2 * 20, 2 * 30, 2 * 5],
    ['b2', 2 * 900, 2 * 700, 2 * 500],
  ] as const)(
    'lets %s come as near to its limit as its moves allow, from either end',
    (tensor, first, second, third) => {
      const limit = limits[tensor];
      const ends = (start: number, end: number) =>
        verdict(({ before, outputs }) => {
          before[tensor] = start;
          outputs[`most.${tensor}`] = [end];
        });
      expect(ends(limit - first - second - third, limit)).toBe(true);
      expect(ends(limit, limit - second - third)).toBe(true);
      expect(ends(limit, limit - second - third + 1)).toBe(false);
      expect(ends(limit - first, limit - third)).toBe(true);
      expect(ends(limit - first + 1, limit - third)).toBe(false);
      expect(ends(limit - first, limit - third + 1)).toBe(false);
      expect(ends(limit - first, limit + 1)).toBe(false);
    },
  );

  it('is not sure where float64 may not carry a step, whatever the ends say', () => {
    const carried = guardTable(m, 'attested').get('W1')!.carriedMax;
    const from = (magnitude: number) =>
      verdict(({ before, outputs }) => {
        before.W1 = magnitude;
        outputs['most.W1'] = [0];
        outputs['sum.G1']!.fill(0);
      });
    expect(carried).toBeGreaterThan(limits.W1);
    expect(from(carried)).toBe(true);
    expect(from(carried + 1)).toBe(false);
  });

  it('is not sure of what is no number', () => {
    for (const name of Object.keys(calm().outputs)) {
      expect(verdict(({ outputs }) => outputs[name]!.fill(Number.NaN))).toBe(false);
    }
  });
});
