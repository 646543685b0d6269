import { describe, expect, it } from 'vitest';
import { profileManifest, type Manifest } from '#libs/step';
import { openingBudget, profiles } from '#libs/zk/verifier';
import { admitJob, openingsOfJob, type JobOpenings } from './openings.js';

const records = 60_000;
const fast16 = profiles.get('fast16')!;

function mnist(epochs: number, superblock = 16): Manifest {
  const steps = epochs * Math.floor(Math.floor(records / 64) / superblock) * superblock;
  return profileManifest('fx1', {
    dims: [784, 64, 10],
    batch: 64,
    e: 8,
    steps,
    superblock,
    seed: `0x${'11'.repeat(32)}`,
  });
}

const job = (id: number, epochs: number): JobOpenings =>
  openingsOfJob(new Uint8Array(32).fill(id), mnist(epochs), records);

describe('openings of a job', () => {
  it('opens a superblock once per epoch, begun ones included, and a border twice', () => {
    expect(job(1, 10)).toMatchObject({ perSuperblock: 10, perBorder: 2 });
    const more = { ...mnist(3), steps: mnist(3).steps + 1 };
    expect(openingsOfJob(new Uint8Array(32), more, records).perSuperblock).toBe(4);
    expect(openingsOfJob(new Uint8Array(32), mnist(3), records, 2)).toMatchObject({ perSuperblock: 6, perBorder: 4 });
  });

  it.each([...profiles.values()].map((profile) => [profile.name, profile] as const))(
    'ten epochs stay inside the budget of %s',
    (_name, profile) => {
      for (const superblock of [1, 16, 64]) {
        const ten = openingsOfJob(new Uint8Array(32), mnist(10, superblock), records);
        expect(admitJob([], ten, profile)).toEqual([ten]);
      }
    },
  );
});

describe('jobs on one data set', () => {
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
    const often = openingsOfJob(new Uint8Array(32), mnist(1), records, Math.floor(openingBudget(fast16) / 2) + 1);
    expect(() => admitJob([], { ...often, perSuperblock: 1 }, fast16)).toThrow('border');
  });
});
