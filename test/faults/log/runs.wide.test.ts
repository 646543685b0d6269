/** A part of the 200 seeds that are run by name: `npm run faults -- --log --count 200`. */
import { describe, expect, it } from 'vitest';
import type { LogRun } from './run.js';
import { findLogPlant, logPlants, runSeeds, withEngines } from './session.js';

const seeds = 60;

it('loses nothing, numbers nothing twice and shows one history under many seeds', async () => {
  const runs: LogRun[] = [];
  await withEngines((engines) => runSeeds(engines, 1, seeds, (run) => runs.push(run)));
  expect(runs).toHaveLength(seeds);
  expect(runs.flatMap(({ seed, violations }) => violations.map((what) => `${seed}: ${what}`))).toEqual([]);
  const kinds = new Set(runs.flatMap(({ faults }) => faults));
  expect([...kinds].toSorted()).toEqual(['database', 'disk-full', 'kill', 'sleep']);
}, 1_800_000);

// What a log shows before its rows are committed is seen where replicas share a server.
const haveServer = process.env['VERITRAIN_TEST_DATABASE_URL'] !== undefined;

describe.each(logPlants)('a log that is broken on purpose: %s', (plant) => {
  it.skipIf(!haveServer && plant === 'early-signature')('is found', { timeout: 600_000 }, async () => {
    expect(await withEngines((engines) => findLogPlant(plant, engines))).not.toBeNull();
  });
});
