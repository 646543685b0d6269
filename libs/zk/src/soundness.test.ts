/**
 * The proximity terms against another program: JohnsonBoundRegime with an explicit m of ethereum/soundcalc at 809896f,
 * run on our parameters. Its note on BCHKS 2025, Theorem 4.2 (m = ⌈√ρ/(2η)⌉, a factor that the paper's text lost) is how
 * the multiplicity is meant here.
 */
import { describe, expect, it } from 'vitest';
import { profileManifest } from '#libs/step';
import { profiles, type Profile } from './commit/params.js';
import { derivePlanUnchecked } from './relation/plan.js';
import { soundness, soundnessBitsMin, type ShapeCounts } from './soundness.js';

const terms = ['row rounds and δ, proximity', 'queries 0', 'level-1 row rounds, proximity', 'queries 1'] as const;

/** lg of the hypercube, bits. */
const computed: readonly (readonly [string, number, readonly number[]])[] = [
  ['chain1', 19, [101.366392, 100.308369, 101.547995, 101.328227]],
  ['chain16', 21, [101.114412, 101.450189, 100.547995, 101.328227]],
  ['fast16', 21, [100.754548, 101.27265, 101.235205, 101.8827]],
  ['small', 19, [100.606785, 101.664454, 101.287697, 101.124824]],
  ['fast64', 23, [104.418727, 100.695271, 101.974592, 101.020229]],
  ['large', 25, [103.354126, 101.189642, 100.974592, 101.020229]],
];

const counts = (globalVars: number): ShapeCounts => ({
  ...{ lookupVars: 20, globalVars, rowsPerTree: [1, 1, 1, 1], constraints: 100, maskedRounds: 200 },
  ...{ batchedTerms: 20, productVars: 7 },
});

describe('the terms of soundness (libs/zk/SPEC.md §12)', () => {
  it.each(computed)('%s at 2^%i cells are those of soundcalc', (name, globalVars, bits) => {
    const found = soundness(profiles.get(name)!, counts(globalVars));
    terms.forEach((step, k) => {
      expect(found.terms.find((term) => term.step === step)!.bits).toBeCloseTo(bits[k]!, 5);
    });
  });

  it('count the random coefficients into the rate', () => {
    const profile = profiles.get('fast64')!;
    const queries = (from: Profile): number =>
      soundness(from, counts(23)).terms.find(({ step }) => step === 'queries 0')!.bits;
    expect(queries({ ...profile, randomRows: 4 })).toBeLessThan(queries(profile) - 3);
  });

  it('sum to less than the weakest round, and say so', () => {
    for (const [name, globalVars] of computed) {
      const found = soundness(profiles.get(name)!, counts(globalVars));
      expect(found.minBits).toBeGreaterThanOrEqual(soundnessBitsMin);
      expect(found.sumBits).toBeLessThan(found.minBits);
      expect(found.sumBits).toBeGreaterThan(96);
    }
  });

  it('fall when any parameter is weakened', () => {
    const manifest = profileManifest('fx1', {
      ...{ dims: [784, 64, 10], batch: 64, e: 8, steps: 64, superblock: 1, seed: `0x${'11'.repeat(32)}` },
    });
    const profile = profiles.get('chain1')!;
    const bits = (from: Profile): number => derivePlanUnchecked(manifest, from, 'joint').soundness.sumBits;
    const weaker: readonly Partial<Profile>[] = [
      ...[{ queries0: 30 }, { queries1: 25 }, { grind0: 8 }, { grind1: 8 }, { grindFold: 4 }, { grindFold1: 0 }],
      ...[{ logBlowup: 3 }, { logBlowup1: 4 }, { multiplicity: 12 }, { multiplicity1: 9 }],
    ];
    for (const change of weaker) expect(bits({ ...profile, ...change })).toBeLessThan(bits(profile) - 0.5);
  });
});
