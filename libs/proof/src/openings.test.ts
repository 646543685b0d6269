import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { profileManifest, type Manifest } from '#libs/step';
import { openingBudget, profiles } from '#libs/zk/verifier';
import { teeTerms } from '#test/escrow-terms';
import { admitJob, openingContext, openingsOfJob, type JobOpenings } from './openings.js';

const records = 60_000;
const fast16 = profiles.get('fast16')!;

function mnist(epochs: number, superblock = 16, of = records): Manifest {
  const steps = epochs * Math.floor(Math.floor(of / 64) / superblock) * superblock;
  return profileManifest('fx1', {
    dims: [784, 64, 10],
    batch: 64,
    e: 8,
    steps,
    superblock,
    seed: `0x${'11'.repeat(32)}`,
  });
}

const digest = (id: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, at) => (at % 2 ? id >> 8 : id));
const named = (id: number, context = id) => ({ jobId: digest(id), context: digest(context) });
const job = (id: number, epochs: number, context = id): JobOpenings =>
  openingsOfJob(named(id, context), mnist(epochs), records, fast16);

describe('openings of a job', () => {
  it('opens a superblock once per epoch, begun ones included, and a border twice', () => {
    expect(job(1, 10)).toMatchObject({ perSuperblock: 10, perBorder: 2 });
    const more = { ...mnist(3), steps: mnist(3).steps + 1 };
    expect(openingsOfJob(named(0), more, records, fast16).perSuperblock).toBe(4);
    expect(openingsOfJob(named(0), mnist(3), records, fast16, 2)).toMatchObject({ perSuperblock: 6, perBorder: 4 });
  });

  it.each([...profiles.values()].map((profile) => [profile.name, profile] as const))(
    'ten epochs stay inside the budget of %s',
    (_name, profile) => {
      for (const superblock of [1, 16, 64]) {
        const { unitSteps = 1 } = profile;
        const held = unitSteps > superblock ? Math.min(records, 64 * unitSteps) : records;
        const ten = openingsOfJob(named(0), mnist(10, superblock, held), held, profile);
        expect(admitJob([], ten, profile)).toEqual([ten]);
      }
    },
  );
});

describe('jobs on one data set', () => {
  it('open a commitment to the whole set once per proof', () => {
    const unit64 = profiles.get('unit64')!;
    const small = mnist(10, 16, 64 * 48);
    expect(openingsOfJob(named(0), small, 64 * 48, unit64).perSuperblock).toBe(Math.ceil(480 / 64));
    expect(openingsOfJob(named(0), mnist(10, 64), records, unit64).perSuperblock).toBe(10);
  });

  it('share the openings of its superblocks', () => {
    const admitted = admitJob([], job(1, 6), fast16);
    const both = admitJob(admitted, job(2, openingBudget(fast16) - 6), fast16);
    expect(both).toHaveLength(2);
    expect(() => admitJob(admitted, job(2, openingBudget(fast16) - 5), fast16)).toThrow('OPENING_BUDGET');
    expect(() => admitJob(both, job(3, 1), fast16)).toThrow('OPENING_BUDGET');
  });

  it('cost nothing when handed out again', () => {
    const full = admitJob([], job(1, openingBudget(fast16)), fast16);
    expect(admitJob(full, job(1, openingBudget(fast16)), fast16)).toBe(full);
    expect(() => admitJob(full, job(1, openingBudget(fast16) + 1), fast16)).toThrow('OPENING_BUDGET');
  });

  it('are refused one opening beyond, of a border too', () => {
    expect(() => admitJob([], job(1, openingBudget(fast16) + 1), fast16)).toThrow('OPENING_BUDGET');
    const often = openingsOfJob(named(0), mnist(1), records, fast16, Math.floor(openingBudget(fast16) / 2) + 1);
    expect(() => admitJob([], { ...often, perSuperblock: 1 }, fast16)).toThrow('border');
  });
});

describe('Z-M1 one spec under several terms', () => {
  const terms = teeTerms({
    ...{ client: new Uint8Array(20).fill(1), provider: new Uint8Array(20), keyBroker: new Uint8Array(20).fill(3) },
    ...{ specDigest: digest(4), initialWeights: digest(5), policy: digest(6), seedCommitClient: digest(0) },
    ...{ segments: 2, acceptBy: 100, windows: {} },
  });
  const contexts = [
    terms,
    { ...terms, price: 2n },
    { ...terms, seedCommitClient: digest(7) },
    { ...terms, specDigest: digest(8) },
  ];

  it('Z-M1 has a context of its own under each', () => {
    const seen = contexts.map((one) => toHex(openingContext(one)));
    expect(new Set(seen).size).toBe(contexts.length);
    expect(openingContext({ ...terms })).toEqual(openingContext(terms));
  });

  it.each([...profiles.values()].map((profile) => [profile.name, profile] as const))(
    'Z-M1 opens its superblocks and its borders once more under each: %s',
    (_name, profile) => {
      const budget = openingBudget(profile);
      let admitted: readonly JobOpenings[] = [];
      for (let n = 1; n <= Math.floor(budget / 2); n++) admitted = admitJob(admitted, job(1, 1, n), profile);
      expect(() => admitJob(admitted, job(1, 1, 1000), profile)).toThrow(/border/);
      for (let n = admitted.length + 1; n <= budget; n++) admitted = admitJob(admitted, job(n + 1000, 1), profile);
      expect(admitted).toHaveLength(budget);
      expect(() => admitJob(admitted, job(9000, 1), profile)).toThrow(/superblock/);
      expect(admitJob(admitted, job(1, 1, 1), profile)).toBe(admitted);
    },
  );

  it('Z-M1 counts what nobody wrote the terms of as other terms each time', () => {
    const old = { ...job(1, 4), context: null };
    const twice = admitJob(admitJob([], old, fast16), old, fast16);
    expect(twice).toHaveLength(2);
    expect(() => admitJob(twice, job(1, 4), fast16)).toThrow('OPENING_BUDGET');
    expect(admitJob([old], job(1, 4), fast16)).toHaveLength(2);
  });
});
