/** `npm run faults -- --log`: a transparency log under faults, or broken on purpose. */
import { findLogPlant, logPlants, runSeeds, withEngines } from './session.js';
import type { LogRun } from './run.js';

type Say = (line: string) => void;

/** @returns the exit status: 0 only when nothing was violated */
export async function logSeeds(first: number, count: number, isJson: boolean, say: Say): Promise<number> {
  const runs: LogRun[] = [];
  const began = Date.now();
  await withEngines((engines) =>
    runSeeds(engines, first, count, (run) => {
      runs.push(run);
      const { seed, engine, entries, proved, notes, faults, restored, violations } = run;
      say(
        `seed ${seed}: ${engine}, ${entries} entries, ${proved} proved meanwhile, ${notes} checkpoints; ${faults.join(', ')}${restored === null ? '' : `; restored ${restored}`}`,
      );
      for (const violation of violations) say(`seed ${seed} VIOLATION: ${violation}`);
    }),
  );
  const sum = (of: (run: LogRun) => number): number => runs.reduce((all, run) => all + of(run), 0);
  const kinds = runs.flatMap(({ faults }) => faults);
  const summary = {
    ...{ seed: first, runs: runs.length, seconds: Math.round((Date.now() - began) / 1000) },
    ...{ entries: sum(({ entries }) => entries), provedMeanwhile: sum(({ proved }) => proved) },
    checkpoints: sum(({ notes }) => notes),
    embedded: runs.filter(({ engine }) => engine === 'embedded').length,
    restored: runs.filter(({ restored }) => restored !== null).length,
    faults: Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((one) => one === kind).length])),
    violated: runs.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed),
  };
  process.stdout.write(`${JSON.stringify(isJson ? { ...summary, reports: runs } : summary)}\n`);
  return summary.violated.length === 0 ? 0 : 1;
}

/** @returns the exit status: 0 only when each was found */
export async function logPlantsFound(say: Say): Promise<number> {
  const missed: string[] = [];
  await withEngines(async (engines) => {
    for (const plant of logPlants) {
      const found = await findLogPlant(plant, engines);
      say(`plant ${plant}: ${found === null ? 'MISSED' : `seed ${found.seed}: ${found.violation}`}`);
      if (found === null) missed.push(plant);
    }
  });
  process.stdout.write(`${JSON.stringify({ plants: logPlants.length, missed })}\n`);
  return missed.length === 0 ? 0 : 1;
}
