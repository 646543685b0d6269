/** Seeded simulations: the invariants hold, the same seed gives the same run, and planted faults are found. */
import { describe, expect, it } from 'vitest';
import { faultKinds } from './faults.js';
import type { Invariant } from './invariants.js';
import {
  lapseUnseen,
  lostCheckpoint,
  lostOutbox,
  noFence,
  olderRenewal,
  partialTwice,
  staleClaim,
  staleRead,
  workerLapseUnseen,
} from './plants.js';
import type { Plant } from './replica.js';
import { simulate, type SimulationOptions } from './simulate.js';
import { merged, worldsOf } from './worlds.js';

const size = { nodes: 20, replicas: 2, engine: 'memory' } as const;

describe('a simulation', () => {
  it('holds every invariant under every kind of fault, and repeats from its seed', async () => {
    const options: SimulationOptions = { ...size, seed: 7, jobs: 80 };
    const report = await simulate(options);
    expect(report.violations).toEqual([]);
    expect(Object.values(report.byState).reduce((sum, count) => sum + count, 0)).toBe(80);
    expect(report.byState['settled']).toBeGreaterThan(50);
    for (const count of Object.values(report.checks)) expect(count).toBeGreaterThan(0);
    expect(await simulate(options)).toEqual(report);
  });

  it('injects every kind of fault somewhere in a few hundred jobs', async () => {
    const reports = [];
    for (const seed of [1, 3]) reports.push(await simulate({ ...size, seed, jobs: 200 }));
    const { faults, violations } = merged({ ...size, seed: 1, jobs: 400 }, reports);
    expect(violations).toEqual([]);
    expect(faultKinds.filter((kind) => faults[kind] === 0)).toEqual([]);
  }, 300_000);

  it('runs on the SQL of the embedded database as well', async () => {
    const report = await simulate({ seed: 3, jobs: 8, nodes: 4, replicas: 2, engine: 'pglite' });
    expect(report.violations).toEqual([]);
  });
});

describe('a planted fault', () => {
  // A race that needs one certain order shows in every second world or so.
  const worldsMax = 8;
  const plants: [string, Plant, Invariant][] = [
    ['two holders at once', noFence, 'only the holder of the newest fence has effect'],
    ['a lock after the look', staleRead, 'states follow the table'],
    ['a transition without its outbox row', lostOutbox, 'every transition has its outbox row and audit entry'],
    ['a checkpoint that was acknowledged and forgotten', lostCheckpoint, 'no acknowledged write is lost'],
    ['an attestation whose end nobody sees', lapseUnseen, 'what a session signs after its attestation has no effect'],
    [
      'a partial of a session whose end nobody sees',
      workerLapseUnseen,
      'what a session signs after its attestation has no effect',
    ],
    ['a proof of a claim that is over', staleClaim, 'a proof counts once, from its newest claim'],
    ['a partial that counts twice', partialTwice, 'a segment of a round counts once, from its newest claim'],
    ['a renewal that is older than the one before', olderRenewal, 'a renewal only prolongs'],
  ];

  for (const [name, plant, invariant] of plants) {
    it(`is found: ${name}`, async () => {
      const found = new Set<string>();
      for (let seed = 1; seed <= worldsMax && !found.has(invariant); seed += 1) {
        const { violations } = await simulate({ ...size, seed, jobs: 100 }, plant);
        for (const violation of violations) found.add(violation.invariant);
      }
      expect([...found]).toContain(invariant);
    });
  }
});

it('splits many jobs into worlds that can each be run again', () => {
  const worlds = worldsOf({ ...size, seed: 9, jobs: 10_000 });
  expect(worlds.map(({ jobs }) => jobs)).toEqual([2500, 2500, 2500, 2500]);
  expect(new Set(worlds.map(({ seed }) => seed)).size).toBe(4);
  expect(worldsOf({ ...worlds[2]! })).toEqual([worlds[2]]);
});
