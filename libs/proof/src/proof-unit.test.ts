/** The largest unit that fits, and what it is expected to cost, against proofs that were measured. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { profileManifest, type ProfileParameters } from '#libs/step';
import { derivePlan, profileNamed, profiles, type Variant } from '#libs/zk/verifier';
import { proofCost, unevenSegments } from './proof-cost.js';
import { explainPlan } from './plan-choice.js';
import { largestUnit, proofUnitOf, type UnitLimits } from './proof-unit.js';
import { planOf } from './statement.js';

const seed = `0x${'5a'.repeat(32)}`;
const MiB = 2 ** 20;
const mnist = (steps: number, parameters: Partial<ProfileParameters> = {}) =>
  profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps, seed, ...parameters });
const unit = (steps: number, limits: Partial<UnitLimits> = {}, parameters: Partial<ProfileParameters> = {}) => {
  const found = largestUnit(mnist(steps, parameters), {
    ...{ memoryBytes: 4096 * MiB, records: 60_000, variant: 'separate' },
    ...limits,
  });
  if (!found.profile.startsWith('unit')) expect(found.manifest.superblock).toBe(found.steps);
  return [found.steps, found.profile, found.proofs];
};

describe('the largest unit', () => {
  it.each<[string, number, Partial<UnitLimits>, ReturnType<typeof unit>]>([
    ['of a job of sixty-four steps', 64, {}, [64, 'steps128', 1]],
    ['of a job of ten epochs', 9370, {}, [2048, 'unit2048', 5]],
    ['where a prover has default settings', 9370, { memoryBytes: 2560 * MiB }, [1024, 'unit1024', 10]],
    ['of a job that one shorter unit holds', 1000, {}, [1024, 'unit1024', 1]],
    ['where a prover has 2 GiB', 9370, { memoryBytes: 2048 * MiB }, [1024, 'unit1024', 10]],
    ['where it has 1.5 GiB', 9370, { memoryBytes: 1536 * MiB }, [256, 'chain256', 37]],
    ['where no one commitment of a shorter unit holds the set', 9370, { records: 70_000 }, [2048, 'unit2048', 5]],
    ['where none holds it', 9370, { records: 140_000 }, [256, 'chain256', 37]],
    ['where a prover has 400 MiB', 9370, { memoryBytes: 400 * MiB }, [128, 'chain256', 74]],
    [
      'and the witness needs no tree of its own',
      9370,
      { memoryBytes: 400 * MiB, variant: 'joint' },
      [128, 'steps128', 74],
    ],
    ['where a prover has 100 MiB', 64, { memoryBytes: 100 * MiB }, [16, 'chain64', 4]],
    ['where it has 40 MiB', 64, { memoryBytes: 40 * MiB }, [8, 'chain26', 8]],
    ['where the data set is small', 64, { records: 1024 }, [16, 'chain64', 4]],
    ['is no longer than the job', 16, {}, [16, 'chain64', 1]],
    ['covers null steps where that saves a proof', 17, {}, [32, 'chain64', 1]],
    ['is the shortest of those that make as few proofs', 40, { records: 2048 }, [32, 'chain64', 2]],
    ['of one step', 1, {}, [1, 'chain1', 1]],
  ])('%s', (_name, steps, limits, expected) => {
    expect(unit(steps, limits)).toEqual(expected);
  });

  it('has segments of the length that costs the least gas', () => {
    const limits = { memoryBytes: 4096 * MiB, records: 60_000, variant: 'separate' } as const;
    const lengths = [9370, 1024, 1000].map((steps) => largestUnit(mnist(steps), limits).manifest.superblock);
    expect(lengths).toEqual([128, 256, 32]);
  });

  // What `reduce` alone took of those with many segments: 17.4, 21.5 and 13.6 M gas.
  it.each<[string, Partial<ProfileParameters>, string]>([
    ['three layers in 512 segments', { dims: [64, 32, 16, 10], superblock: 4 }, 'unit2048'],
    ['two small layers in 1,024 segments', { dims: [8, 4, 2], superblock: 1 }, 'unit1024'],
    [
      'eight layers in 128 segments',
      { dims: [64, 16, 16, 16, 16, 16, 16, 16, 10], superblock: 16, batch: 16 },
      'unit2048',
    ],
  ])('has no gas for %s', (_name, parameters, profile) => {
    const manifest = mnist(4096, parameters);
    expect(proofUnitOf(manifest, { profile, variant: 'separate' }).gas).toBeNull();
    const needs = { records: 60_000, memoryBytes: 4096 * MiB };
    expect(explainPlan(manifest, 'auto', 'separate', true, needs).plan.profile.name).not.toBe(profile);
  });

  it.each([
    ['steps128', 64],
    ['chain1', 1],
  ] as const)('has no room for a long schedule under %s', (profile, superblock) => {
    const manifest = mnist(65_536, { superblock });
    const m = Array.from({ length: 1024 }, (_, i) => [64 * i, 4 - (i % 2)] as const);
    const long = { ...manifest, optimizer: { ...manifest.optimizer, m } };
    expect(proofUnitOf(manifest, { profile, variant: 'separate' }).gas).not.toBeNull();
    expect(proofUnitOf(long, { profile, variant: 'separate' }).gas).toBeNull();
  });

  it('is refused where not even one step fits', () => {
    expect(() => unit(64, { memoryBytes: 20 * MiB })).toThrow('STEP_UNIT');
    expect(() => unit(64, { records: 63 })).toThrow('STEP_UNIT');
    expect(() => unit(64, {}, { e: 2 })).toThrow('STEP_UNIT');
  });
});

describe('what proofs are expected to cost', () => {
  interface Measured {
    readonly profile: string;
    readonly loss: 'softmax-ce' | 'mse';
    readonly superblock: number;
    readonly gas: number;
  }
  const file = new URL('../../../contracts/snapshots/zk-gas.json', import.meta.url);
  const { proofs } = JSON.parse(readFileSync(file, 'utf8')) as { readonly proofs: readonly Measured[] };
  const ofPlan = (superblock: number, profile: string, variant: Variant) =>
    proofCost(planOf({ manifest: mnist(64, { superblock }), profile, variant }));

  it('is the gas of the snapshot, within a twentieth', () => {
    const measured = proofs.filter(({ loss }) => loss === 'softmax-ce');
    expect(measured.length).toBeGreaterThan(3);
    for (const { profile, superblock, gas } of measured) {
      expect(Math.abs(ofPlan(superblock, profile, 'joint').gas! / gas - 1)).toBeLessThan(0.05);
    }
  });

  // Separate variant, proved and verified by the contract under Osaka: gas, and most linear memory in MiB.
  it.each([
    [1, 'chain1', 5_101_666, 24],
    [4, 'chain1', 5_565_775, 26],
    [8, 'chain26', 5_637_853, 32],
    [16, 'chain64', 5_422_834, 61],
    [32, 'chain64', 5_664_507, 116],
    [64, 'steps128', 5_941_665, 133],
  ])('is what %i steps under %s took', (superblock, profile, gas, memory) => {
    const cost = ofPlan(superblock, profile, 'separate');
    expect(Math.abs(cost.gas! / gas - 1)).toBeLessThan(0.05);
    expect(cost.memoryBytes / MiB / memory).toBeGreaterThan(1);
    expect(cost.memoryBytes / MiB / memory).toBeLessThan(1.2);
  });

  it('is for all segments that are proved', () => {
    const proving = { profile: 'chain64', variant: 'separate' } as const;
    const all = proofUnitOf(mnist(112, { superblock: 16 }), proving);
    expect(all).toMatchObject({ steps: 16, proofs: 7, transactions: 7 });
    const two = proofUnitOf(mnist(112, { superblock: 16 }), proving, 2);
    expect([two.gas! / 2, two.cpuSeconds / 2]).toEqual([all.gas! / 7, all.cpuSeconds / 7]);
  });

  it('is no gas where no contract verifies the plan, or no transaction carries it', () => {
    expect(ofPlan(64, 'fast64', 'separate').gas).toBeUndefined();
    expect(ofPlan(64, 'chain64', 'separate').gas).toBeUndefined();
    expect(profiles.get('large')!.deeper).toBeUndefined();
    expect(ofPlan(1, 'large', 'separate').gas).toBeUndefined();
    const plan = derivePlan(mnist(1, { superblock: 1 }), profileNamed('chain1'), 'separate');
    expect(proofCost(plan).gas).toBeDefined();
    expect(proofCost({ ...plan, profile: { ...plan.profile, hash: 'blake3' } }).gas).toBeUndefined();
  });
});

describe('a segment whose steps have several sizes', () => {
  const proving = { profile: 'chain256', variant: 'separate' } as const;
  const unit = (steps: number, dims = [784, 64, 10]) =>
    proofUnitOf(profileManifest('fx1', { dims, batch: 64, e: 8, steps, seed, superblock: 256 }), proving);

  it('costs tables, where the job ends within it or its rate changes there', () => {
    const m = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 1024, seed, superblock: 256 });
    const with_ = (steps: number, ...from: number[]) =>
      unevenSegments({
        ...m,
        steps,
        optimizer: { ...m.optimizer, m: [[0, 4], ...from.map((at) => [at, 2] as const)] },
      });
    expect([with_(1024), with_(1000), with_(1024, 256), with_(1024, 300, 400, 600), with_(256, 300)]).toEqual([
      0, 1, 0, 2, 0,
    ]);
    const table = 1_400 * 256 * 9;
    expect(unit(1023).gas! - unit(1024).gas!).toBe(table);
  });

  it('has no proof that a contract takes where the tables are more than a transaction', () => {
    const dims = [64, 16, 16, 16, 16, 16, 16, 16, 10];
    expect(unit(1024, dims).gas).not.toBeNull();
    expect(unit(1025, dims).gas).toBeNull();
  });
});
