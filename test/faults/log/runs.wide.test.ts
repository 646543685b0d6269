/** A part of the 200 seeds that are run by name: `npm run faults -- --log --count 200`. */
import { expect, it } from 'vitest';
import type { LogRun } from './run.js';
import { runSeeds, withEngines } from './session.js';

const seeds = 60;

it('loses nothing, numbers nothing twice and shows one history under many seeds', async () => {
  const runs: LogRun[] = [];
  await withEngines((engines) => runSeeds(engines, 1, seeds, (run) => runs.push(run)));
  expect(runs).toHaveLength(seeds);
  expect(runs.flatMap(({ seed, violations }) => violations.map((what) => `${seed}: ${what}`))).toEqual([]);
  const kinds = new Set(runs.flatMap(({ faults }) => faults));
  expect([...kinds].toSorted()).toEqual(['database', 'disk-full', 'kill', 'sleep']);
}, 1_800_000);
