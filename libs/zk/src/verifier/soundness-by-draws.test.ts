/** Soundness of plans against that by what a verifier draws (../testing/draws.ts); the long profiles in the wide test. */
import { describe, expect, it } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { profileNamed, type Profile } from '../commit/params.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import type { Variant } from '../relation/plan.js';
import { testCount } from '../testing/accuracy.js';
import { countSoundnessByDraws, soundnessByDraws } from '../testing/draws.js';
import { testManifest, testSegment } from '../testing/segments.js';

/** As behind level 1 of chain64, with less grinding. */
const levelOf64 = { ...profileNamed('chain64').deeper![0]!, grind: 8, grindFold: 9 };

const backend = new KernelBackend(createEngine({ rowLogMax: 14 }));

describe.each<[string, Variant, Partial<Profile>]>([
  ['small', 'joint', {}],
  ['small', 'separate', {}],
  ['chain1', 'joint', { queries0: 20, grindFold: 3 }],
  ['chain64', 'joint', { m: 13, k1: 3, grind0: 12, grind1: 12, deeper: [{ ...levelOf64, grind: 10 }] }],
  ['unit64', 'separate', { m: 13, k1: 3, grind0: 12, grind1: 12, deeper: [levelOf64], unitSteps: 16 }],
  ['chain1', 'joint', { oodPoints: 2, deeper: [levelOf64, { ...levelOf64, k: 1, logBlowup: 11 }] }],
])('soundness of %s, %s, by what a verifier draws', (name, variant, change) => {
  const profile = { ...profileNamed(name), ...change };
  const segment = testSegment(backend, { profile, variant, manifest: testManifest({ superblock: 2 }) });
  const { sites, sumBits, weakestBits } = soundnessByDraws(backend, segment);
  const { soundness } = segment.plan;

  it('is in sum no less than what the plan says, and hardly more', () => {
    expect(sumBits).toBeGreaterThanOrEqual(soundness.sumBits - 1e-6);
    expect(sumBits - soundness.sumBits).toBeLessThan(0.05);
  });

  it('is in each round no less than in the weakest round of the plan', () => {
    expect(weakestBits).toBeCloseTo(soundness.minBits, 1);
  });

  it('draws at every site', () => {
    expect(sites).toBeGreaterThanOrEqual(19);
  });
});

describe.each<[string, Partial<Profile>]>([
  ['small', {}],
  ['chain64', { m: 13, k1: 3, grind0: 12, grind1: 12, deeper: [levelOf64] }],
])('soundness of a count under %s, by what a verifier draws', (name, change) => {
  const count = testCount(backend, { profile: { ...profileNamed(name), ...change }, records: 40 });
  const { sites, sumBits, weakestBits } = countSoundnessByDraws(backend, count);
  const { soundness } = count.plan;

  it('is in sum and in each round no less than the plan says, and hardly more', () => {
    expect(sumBits).toBeGreaterThanOrEqual(soundness.sumBits - 1e-6);
    expect(sumBits - soundness.sumBits).toBeLessThan(0.05);
    expect(weakestBits).toBeCloseTo(soundness.minBits, 1);
  });

  it('draws at every site but that of the updates', () => {
    expect(sites).toBeGreaterThanOrEqual(18);
  });
});
