/** As soundness-by-draws.test.ts, for the profiles of long segments as they are; `unit2048`, which takes 3.5 GiB, with VERITRAIN_LONG=1. */
import { expect, it } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { profileNamed } from '../commit/params.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { derivePlan, type Variant } from '../relation/plan.js';
import { soundnessBitsMin } from '../soundness.js';
import { lightlyGround, soundnessByDraws } from '../testing/draws.js';
import { testManifest, testSegment } from '../testing/segments.js';

const longest: [string, Variant][] = process.env['VERITRAIN_LONG'] === undefined ? [] : [['unit2048', 'joint']];

it.each<[string, Variant]>([
  ['chain64', 'joint'],
  ['chain64', 'separate'],
  ['sum100', 'joint'],
  ['steps128', 'separate'],
  ['unit64', 'separate'],
  ['unit1024', 'joint'],
  ['fast64-blake3', 'separate'],
  ...longest,
])(
  'soundness of %s, %s, is that by what a verifier draws',
  (name, variant) => {
    const profile = profileNamed(name);
    const backend = new KernelBackend(createEngine({ rowLogMax: profile.m, memoryBytesMax: 2 ** 32 }));
    const manifest = testManifest({ superblock: 4 });
    const segment = testSegment(backend, { profile: lightlyGround(profile), variant, manifest });
    const plan = derivePlan(manifest, profile, variant);
    const { sumBits, weakestBits } = soundnessByDraws(backend, segment, plan);
    expect(Math.abs(sumBits - plan.soundness.sumBits)).toBeLessThan(0.05);
    expect(weakestBits).toBeCloseTo(plan.soundness.minBits, 1);
    expect(weakestBits).toBeGreaterThan(soundnessBitsMin);
    if (name === 'sum100') expect(sumBits).toBeGreaterThan(100);
  },
  900_000,
);
