/**
 * Many jobs as several worlds of bounded size, each from its own seed, spread over worker threads. The report depends on
 * seed and number of jobs alone, not on how many threads there are.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SimulationOptions, SimulationReport } from './simulate.js';

const jobsPerWorld = 2500;
/** Far enough apart that seeds which people choose do not meet. */
const seedStride = 1_000_003;

/** Each world can be run again by itself with its options. */
export function worldsOf(options: SimulationOptions): SimulationOptions[] {
  const count = Math.ceil(options.jobs / jobsPerWorld);
  return Array.from({ length: count }, (_, index) => ({
    ...options,
    seed: options.seed + index * seedStride,
    jobs: Math.floor(((index + 1) * options.jobs) / count) - Math.floor((index * options.jobs) / count),
  }));
}

export async function runWorlds(options: SimulationOptions): Promise<SimulationReport[]> {
  const waiting = worldsOf(options).map((world, index) => ({ world, index }));
  const reports: SimulationReport[] = [];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      reports[next.index] = await inThread(next.world);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), waiting.length) }, lane));
  return reports;
}

const isSource = import.meta.url.endsWith('.ts');

function inThread(world: SimulationOptions): Promise<SimulationReport> {
  const file = new URL(isSource ? './world-main.ts' : './world-main.js', import.meta.url);
  const execArgv = isSource ? ['--conditions=source', '--import', '@oxc-node/core/register'] : [];
  const worker = new Worker(file, { workerData: world, execArgv });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', (error: Error) => reject(new Error(`seed ${world.seed}: ${error.stack ?? error.message}`)));
    worker.once('exit', (code) => reject(new Error(`seed ${world.seed}: the thread ended with ${code}`)));
  });
}

/** One report over all worlds; violations keep the seed that they were found under. */
export function merged(options: SimulationOptions, reports: readonly SimulationReport[]) {
  const sum = (pick: (report: SimulationReport) => Readonly<Record<string, number>>): Record<string, number> => {
    const total: Record<string, number> = {};
    for (const report of reports) {
      for (const [name, count] of Object.entries(pick(report))) total[name] = (total[name] ?? 0) + count;
    }
    return total;
  };
  return {
    ...options,
    worlds: reports.map(({ seed, jobs }) => ({ seed, jobs })),
    byState: sum(({ byState }) => byState),
    faults: sum(({ faults }) => faults),
    checks: sum(({ checks }) => checks),
    violations: reports.flatMap(({ seed, violations }) => violations.map((violation) => ({ seed, ...violation }))),
    events: reports.reduce((total, { events }) => total + events, 0),
    virtualSeconds: reports.reduce((total, { virtualSeconds }) => total + virtualSeconds, 0),
  };
}
