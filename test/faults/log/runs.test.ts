/** A few seeds of the runs of a log; `runs.wide.test.ts` has more, and the logs that are broken on purpose. */
import { expect, it } from 'vitest';
import { runSeeds, withEngines } from './session.js';
import type { LogRun } from './run.js';

it('loses nothing, numbers nothing twice and shows one history', async () => {
  const runs: LogRun[] = [];
  await withEngines((engines) => runSeeds(engines, 2, 5, (run) => runs.push(run)));
  expect(runs.flatMap(({ seed, violations }) => violations.map((what) => `${seed}: ${what}`))).toEqual([]);
  expect(runs.map(({ engine }) => engine)).toContain('embedded');
  expect(runs.filter(({ restored }) => restored !== null)).toHaveLength(2);
});
