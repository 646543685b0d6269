/**
 * Load on the control plane over PostgreSQL: 64 clients submit jobs, first at a given rate and then as fast as they
 * are answered, simulated nodes hold connections and are pushed leases, and jobs wait that no connected node can take. Needs
 * VERITRAIN_TEST_DATABASE_URL; each replica runs in a process of its own, and clients, nodes and database share the
 * machine with it. A node that has a job asks for the next one, as a machine with room for many does. One replica and nodes
 * over TCP, unless VERITRAIN_LOAD_REPLICAS and VERITRAIN_LOAD_NODES_OVER=nats say otherwise.
 */
import { loadavg } from 'node:os';
import { createTestDatabase } from '../../apps/control-plane/test/test-database.js';
import { requestOf, submitAll } from './load/clients.js';
import { between, databaseTime } from './load/database-time.js';
import { loadKeys } from './load/keys.js';
import { seed } from './load/jobs.js';
import { SimulatedNodes } from './load/nodes.js';
import { startReplicas, type Replicas, type Usage } from './load/replicas.js';

const clients = 64;
const nodes = Number(process.env['VERITRAIN_LOAD_NODES'] ?? 1000);
const queued = Number(process.env['VERITRAIN_LOAD_QUEUED'] ?? 10_000);
/** Submissions a second of the paced phase. */
const pace = Number(process.env['VERITRAIN_LOAD_RATE'] ?? 320);
const measured = Number(process.env['VERITRAIN_LOAD_JOBS'] ?? 3000);
const replicaCount = Number(process.env['VERITRAIN_LOAD_REPLICAS'] ?? 1);
const isOverNats = process.env['VERITRAIN_LOAD_NODES_OVER'] === 'nats';
/** Before the clock starts, so that code is compiled and caches are filled. */
const warming = Number(process.env['VERITRAIN_LOAD_WARMING'] ?? 500);

export async function run() {
  const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
  if (serverUrl === undefined) return [];
  const database = await createTestDatabase(serverUrl);
  let replicas: Replicas | null = null;
  try {
    const started = await startReplicas(database.url, replicaCount, isOverNats || replicaCount > 1);
    replicas = started;
    const jobs = await seed(database.url, queued, warming + 2 * measured);
    const requests = jobs.map(({ key, body }) => requestOf(loadKeys.client, key, body));
    const fleet = await SimulatedNodes.connect(isOverNats ? started.nats! : started.dispatch, nodes);
    await submitAll(started.http, requests.slice(0, warming), clients);
    await fleet.granted(warming);
    const load = loadavg()[0]!;
    const phase = async (from: number, perSecond: number | null): Promise<Phase> => {
      await started.usage();
      const here = process.cpuUsage();
      const there = await databaseTime(database.query, database.name);
      const began = performance.now();
      const sent = await submitAll(started.http, requests.slice(from, from + measured), clients, perSecond);
      const accepted = performance.now() - began;
      await fleet.granted(from + measured);
      const leased = performance.now() - began;
      const own = process.cpuUsage(here);
      const served = between(there, await databaseTime(database.query, database.name));
      const usage = await started.usage();
      const times = sent.map(({ at, answered }) => answered - at);
      const waits = sent.map(({ at }, index) => fleet.grantedAt(jobs[from + index]!.id) - at);
      return { accepted, leased, times, waits, own: (own.user + own.system) / 1000, served, usage };
    };
    const paced = await phase(warming, pace);
    const full = await phase(warming + measured, null);
    fleet.close();
    return [
      ...figuresOf(`at ${pace}/s`, paced),
      ...figuresOf('as fast as answered', full),
      figure('replicas', '', 1, [replicaCount]),
      figure(`simulated nodes connected over ${isOverNats ? 'NATS' : 'TCP'}`, '', 1, [nodes]),
      figure('jobs queued before', '', 1, [queued]),
      figure('load average of the machine before', '', 1, [load]),
    ];
  } finally {
    await replicas?.stop();
    await database.drop();
  }
}

/** What was seen while `measured` jobs were submitted; milliseconds. */
interface Phase {
  readonly accepted: number;
  readonly leased: number;
  readonly times: readonly number[];
  readonly waits: readonly number[];
  readonly own: number;
  readonly served: number;
  readonly usage: Usage;
}

function figuresOf(name: string, { accepted, leased, times, waits, own, served, usage }: Phase) {
  const perJob = (what: string, milliseconds: number) =>
    figure(`${name}: processor time of ${what} per job`, 'ms', measured, [milliseconds / measured]);
  return [
    figure(`${name}: accepted`, '1/s', measured, [(1000 * measured) / accepted]),
    figure(`${name}: accepted and leased`, '1/s', measured, [(1000 * measured) / leased]),
    figure(`${name}: time to answer a submission`, 'ms', measured, times),
    figure(`${name}: time to answer a submission, 99th percentile`, 'ms', measured, [percentile(times, 0.99)]),
    figure(`${name}: time from submission to lease`, 'ms', measured, waits),
    figure(`${name}: time from submission to lease, 99th percentile`, 'ms', measured, [percentile(waits, 0.99)]),
    perJob(replicaCount > 1 ? 'the replicas' : 'the replica', usage.cpuMilliseconds),
    perJob('the database', served),
    perJob('clients and nodes', own),
    figure(`${name}: memory of ${replicaCount > 1 ? 'the largest' : 'the'} replica`, 'MiB', 1, [usage.residentMiB]),
  ];
}

function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
}

function figure(name: string, unit: string, n: number, values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  return { name, unit, n, min: sorted[0]!, median, max: sorted.at(-1)! };
}
