/** A few seeds of the runs of a log, and that they find each log that is broken on purpose. */
import { describe, expect, it } from 'vitest';
import { findLogPlant, logPlants, runSeeds, withEngines } from './session.js';
import type { LogRun } from './run.js';

describe('a log under faults', () => {
  it('loses nothing, numbers nothing twice and shows one history', async () => {
    const runs: LogRun[] = [];
    await withEngines((engines) => runSeeds(engines, 2, 5, (run) => runs.push(run)));
    expect(runs.flatMap(({ seed, violations }) => violations.map((what) => `${seed}: ${what}`))).toEqual([]);
    expect(runs.map(({ engine }) => engine)).toContain('embedded');
    expect(runs.filter(({ restored }) => restored !== null)).toHaveLength(2);
  });

  it.each(logPlants)('is found where it is broken: %s', async (plant) => {
    expect(await withEngines((engines) => findLogPlant(plant, engines))).not.toBeNull();
  });
});
