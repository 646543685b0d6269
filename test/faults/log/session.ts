/** Many seeds, one after the other, on one server and one embedded database. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLogDatabase } from '#libs/log';
import { planOf } from './plan.js';
import { logPlants, type LogPlant } from './plants.js';
import { runLog, type LogRun } from './run.js';
import type { Engines } from './world.js';

/** PostgreSQL 15 or newer with a database that the runs may fill; without one all seeds use the embedded database. */
const serverVariable = 'VERITRAIN_TEST_DATABASE_URL';

export async function withEngines<T>(act: (engines: Engines) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-engine-'));
  const embedded = await openLogDatabase({ directory: join(folder, 'database') });
  const database = await serverDatabase();
  try {
    return await act({ serverUrl: database?.url ?? null, embedded });
  } finally {
    await embedded.close();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serverDatabase() {
  const url = process.env[serverVariable];
  if (url === undefined) return null;
  const { createTestDatabase } = await import('../../../apps/control-plane/test/test-database.js');
  return createTestDatabase(url);
}

export function runSeeds(engines: Engines, first: number, count: number, onRun: (run: LogRun) => void): Promise<void> {
  return Array.from({ length: count }, (_, at) => first + at).reduce(
    (before, seed) => before.then(async () => onRun(await runLog(planOf(seed), engines))),
    Promise.resolve(),
  );
}

/** @returns the first seed under which the runs see that the log is broken, and what they say; null: they do not */
export async function findLogPlant(
  plant: LogPlant,
  engines: Engines,
  most = 30,
): Promise<{ readonly seed: number; readonly violation: string } | null> {
  for (let seed = 1; seed <= most; seed++) {
    const { violations } = await runLog(planOf(seed), engines, plant);
    if (violations[0] !== undefined) return { seed, violation: violations[0] };
  }
  return null;
}

export { logPlants };
