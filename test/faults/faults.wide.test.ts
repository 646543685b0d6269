/**
 * Ten seeds of the fault runs where PostgreSQL and NATS are installed, three with fewer faults on the embedded system
 * where they are not; more with `npm run faults -- --count N`.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import { startEmbeddedCluster } from './embedded-cluster.js';
import type { SeedReport } from './run-seed.js';
import { plansOf, runSession } from './session.js';
import type { summaryOf } from './summary.js';

const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index);
const hasServers = ['postgres', 'initdb', 'nats-server'].every((binary) => {
  try {
    return findServer(binary, '') !== '';
  } catch {
    return false;
  }
});
if (!hasServers) console.warn('SKIPPED: faults on PostgreSQL and NATS need PostgreSQL 15 and nats-server 2.9 or newer');

type Report = ReturnType<typeof summaryOf> & { readonly reports: readonly SeedReport[]; readonly leaksFound: string[] };

/** The command, in a process of its own: it takes a network namespace where there can be one. */
async function faults(first: number, count: number): Promise<Report> {
  const args = ['--conditions=source', '--import', '@oxc-node/core/register', 'test/faults/main.ts'];
  const options = ['--seed', String(first), '--count', String(count), '--json'];
  const child = spawn(process.execPath, [...args, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  // With all that it has started, where the test is over before it.
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended, and stopped them itself.
    }
  });
  return JSON.parse(await text(child.stdout)) as Report;
}

function expectRight(reports: readonly SeedReport[], leaks: readonly string[], seeds: readonly number[]): void {
  const violated = reports.filter(({ violations }) => violations.length > 0);
  expect(violated, `seeds ${violated.map(({ seed }) => seed).join()}`).toEqual([]);
  expect(leaks).toEqual([]);
  expect(reports.map(({ seed }) => seed)).toEqual(seeds);
  for (const { end, code, seed } of reports) expect(end, `seed ${seed}: ${code}`).toBe('settled');
  expect(reports.reduce((sum, { injected }) => sum + injected.length, 0)).toBeGreaterThanOrEqual(seeds.length);
}

it.runIf(hasServers)(
  'processes, servers, lines, disks and clocks fail: every job is settled in the same bits and paid once',
  async () => {
    const report = await faults(12, 10);
    expectRight(report.reports, report.leaksFound, from(12, 10));
    expect(report.withoutEffect).not.toEqual(report.injected);
    expect(report.refusedLate).toBeGreaterThan(0);
    expect(report.dataParallel).toBeGreaterThan(0);
    expect(report.renewals).toBeGreaterThan(0);
    const { nodes, because } = report.partitions;
    expect(nodes).toBe(because === null ? 'network namespaces' : 'proxy');
    if (because === null) expect(report.effects['network interfaces down']).toBeGreaterThan(0);
    else console.warn(`SKIPPED: partitions by network namespaces: ${because}`);
  },
  900_000,
);

it.skipIf(hasServers)(
  'processes of the embedded system fail: every job is settled in the same bits and paid once',
  async () => {
    const { seeds, leaks } = await runSession(
      { plans: plansOf(from(1, 3)) },
      () => undefined,
      undefined,
      false,
      startEmbeddedCluster,
    );
    expectRight(seeds, leaks, from(1, 3));
  },
  600_000,
);
