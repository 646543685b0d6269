import { describe, expect, it } from 'vitest';
import { profileManifest, type ProfileParameters } from '#libs/step';
import { openingBudget, profileNamed } from '#libs/zk/verifier';
import { accuracyParts } from './accuracy-parts.js';
import { admitParts } from './openings.js';

const seed = `0x${'5a'.repeat(32)}`;
const mnist = (parameters: Partial<ProfileParameters> = {}) =>
  profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 64, seed, superblock: 64, ...parameters });
const parts = (records: number, profile = 'auto'): [string, ...number[]] => {
  const plans = accuracyParts(mnist(), profile, records);
  return [plans[0]!.profile.name, ...plans.map(({ shape }) => shape.batch)];
};

describe('parts of a set', () => {
  it.each<[number, string, [string, ...number[]]]>([
    [1, 'auto', ['fast64-blake3', 1]],
    [300, 'auto', ['fast64-blake3', 300]],
    [2048, 'auto', ['fast64-blake3', 2048]],
    [2100, 'auto', ['fast64-blake3', 2048, 52]],
    [4000, 'auto', ['fast64-blake3', 4000]],
    [10_000, 'auto', ['fast64-blake3', 4096, 4096, 1808]],
    [10_000, 'large', ['large', 8192, 1808]],
    [16_000, 'large', ['large', 16_000]],
  ])('%i records, %s', (records, profile, due) => {
    expect(parts(records, profile)).toEqual(due);
  });

  it('of a hundred thousand records are fewer and larger, for each opens the weights', () => {
    const [name, ...sizes] = parts(100_000);
    expect(name).toBe('large-blake3');
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100_000);
    expect(sizes.length).toBeLessThanOrEqual(openingBudget(profileNamed('large')));
    expect(() => parts(100_000, 'fast64')).toThrow('OPENING_BUDGET');
  });

  it('are of no more records than a verifier sums over', () => {
    expect(parts(2 ** 18, 'large')).toEqual(['large', 2 ** 17, 2 ** 17]);
    expect(() => parts(2 ** 22)).toThrow('OPENING_BUDGET');
  });

  it('are refused of nothing, and of what has no proof', () => {
    expect(() => parts(0)).toThrow('STEP_PLAN');
    expect(() => accuracyParts(mnist({ gbits: 17 }), 'auto', 100)).toThrow('STEP_PLAN');
    expect(() => parts(100, 'none')).toThrow('STEP_PLAN');
  });

  it('leave a border of a job to the proofs of its segments', () => {
    const fast = profileNamed('fast64');
    const budget = openingBudget(fast);
    expect(() => admitParts(budget, fast, false)).not.toThrow();
    expect(() => admitParts(budget - 2, fast, true)).not.toThrow();
    expect(() => admitParts(budget + 1, fast, false)).toThrow('OPENING_BUDGET');
    expect(() => admitParts(budget - 1, fast, true)).toThrow('OPENING_BUDGET');
  });
});
