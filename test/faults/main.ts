/** `npm run faults`: the system under faults, or broken on purpose. */
import { randomInt } from 'node:crypto';
import { CodedError } from '#attestation/base';
import { readCommandLine } from '#test/command-line';
import { enterNamespace } from './namespaces.js';
import { plantNames } from './plant.js';
import { findPlant } from './plants.js';
import { plansOf, runSession } from './session.js';
import { logPlantsFound, logSeeds } from './log/main.js';
import { summaryOf } from './summary.js';

const usage = `npm run faults -- [--seed N] [--count N] [--json] [--keep]
  Real processes, PostgreSQL and NATS; one job under each of N seeds (10) from the first on, and seeded faults under it.
  The same seed gives the same faults at the same moments of the job; how the processes meet them is theirs.
  Exit status 0 only when nothing was violated. --keep: leave the folder of the run, with the logs.

npm run faults -- --plants [--json]
  Breaks the system itself in one way after the other. Exit status 0 only when each was reported.

npm run faults -- --log [--seed N] [--count N] [--json] [--plants]
  A transparency log alone: replicas killed, put to sleep, without disk or database, backups put back. With
  VERITRAIN_TEST_DATABASE_URL on PostgreSQL, each fourth seed (else each) on the embedded database.`;
const { values, whole } = readCommandLine(usage, {
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
    keep: { type: 'boolean' },
    plants: { type: 'boolean' },
    log: { type: 'boolean' },
  },
});
const first = values.seed === undefined ? randomInt(1, 1_000_000) : whole('seed', values.seed);
const count = whole('count', values.count, 1);
const say = (line: string): void => void process.stderr.write(`faults: ${line}\n`);

if (values.log === true) {
  const isJson = values.json === true;
  process.exit(await (values.plants === true ? logPlantsFound(say) : logSeeds(first, count, isJson, say)));
}
const status = enterNamespace(say);
if (status !== null) process.exit(status);

async function plants(): Promise<void> {
  const reports = [];
  for (const name of plantNames) {
    const report = await findPlant(name, () => undefined);
    say(`plant ${name}: ${report.found === null ? 'MISSED' : `found: ${report.found}`}`);
    reports.push(report);
  }
  const missed = reports.filter(({ found }) => found === null).map(({ plant }) => plant);
  const summary = { plants: reports.length, missed };
  process.stdout.write(`${JSON.stringify(values.json === true ? { ...summary, reports } : summary)}\n`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

async function seeds(): Promise<void> {
  say(`${count} seeds from ${first} on …`);
  const began = Date.now();
  const session = await runSession(
    { plans: plansOf(Array.from({ length: count }, (_, index) => first + index)) },
    say,
    ({ seed, end, code, attempts, seconds, faults, violations }) => {
      const reached = `${end}${code === null ? '' : ` ${code}`}`;
      say(`seed ${seed}: ${reached} in ${seconds} s, attempt ${attempts}; ${faults.join('; ')}`);
      for (const violation of violations) say(`seed ${seed} VIOLATION: ${violation}`);
    },
    values.keep,
  );
  for (const leak of session.leaks) say(`LEAK: ${leak}`);
  const summary = { seed: first, ...summaryOf(session), seconds: Math.round((Date.now() - began) / 1000) };
  process.stdout.write(
    values.json === true
      ? `${JSON.stringify({ ...summary, reports: session.seeds, leaksFound: session.leaks })}\n`
      : `${Object.entries(summary)
          .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
          .join('\n')}\n`,
  );
  process.exitCode = summary.violated.length === 0 && summary.leaks === 0 ? 0 : 1;
}

try {
  await (values.plants === true ? plants() : seeds());
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  process.stderr.write(`faults: ${JSON.stringify(error.toJSON())}\n`);
  process.exitCode = 1;
}
// What a killed connection still waits for would keep the process.
process.stdout.write('', () => process.exit());
