/** 200 seeds; `npm run faults -- --log --count N` runs more. */
import { expect, it } from 'vitest';
import type { LogRun } from './run.js';
import { runSeeds, withEngines } from './session.js';

it('loses nothing, numbers nothing twice and shows one history under 200 seeds', async () => {
  const runs: LogRun[] = [];
  await withEngines((engines) => runSeeds(engines, 1, 200, (run) => runs.push(run)));
  expect(runs).toHaveLength(200);
  expect(runs.flatMap(({ seed, violations }) => violations.map((what) => `${seed}: ${what}`))).toEqual([]);
  const kinds = new Set(runs.flatMap(({ faults }) => faults));
  expect([...kinds].toSorted()).toEqual(['database', 'disk-full', 'kill', 'sleep']);
}, 1_800_000);
