/** The queue's SQL and its stand-in for the in-memory engine give the same answers to the same questions. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Dataset, defaultCacheDirectory, Job, Lease, NodeRecord, openDatabase, type Database } from '#libs/persistence';
import { JobQueue } from '../../apps/control-plane/src/jobs/job-queue.js';
import { Random } from './random.js';
import { openStore } from './store.js';

const zero = `0x${'00'.repeat(20)}`;
const now = Date.UTC(2026, 0, 1);
const tenants = ['acme', 'globex', 'initech'];
const uuid = (random: Random) =>
  randomUUID({ disableEntropyCache: true }).slice(0, -8) + random.word().toString(16).padStart(8, '0');

interface Scene {
  readonly jobs: Job[];
  readonly nodes: NodeRecord[];
  readonly leases: Lease[];
}

/** Jobs, nodes and refusals of every kind, most of them fitting somewhere. */
function sceneOf(random: Random): Scene {
  const providers = [1, 2].map((n) => `0x${String(n).repeat(40)}`);
  const nodes = Array.from({ length: 6 }, (_, index): NodeRecord => {
    const capabilities = {
      tee: random.pick(['simulated-snp', 'snp', 'none']),
      cores: random.pick([1, 4, 16]),
      memoryMiB: random.pick([512, 4096]),
      version: '1',
      ...(random.chance(0.5) ? { samplesPerSecond: random.whole(1, 100) } : {}),
      ...(random.chance(0.5) ? { tcb: random.pick(['current', 'outdated']) } : {}),
      ...(random.chance(0.5) ? { parallel: true } : {}),
      ...(random.chance(0.3) ? { priceMin: String(random.whole(1, 2000)) } : {}),
    };
    const lastSeenAt = new Date(now - random.pick([1, 60]) * 1000);
    const state = random.pick(['ready', 'ready', 'cordoned'] as const);
    const provider = random.pick(providers);
    return {
      id: uuid(random),
      tenant: 'host',
      name: `n${index}`,
      provider,
      capabilities,
      state,
      lastSeenAt,
      createdAt: new Date(now),
    };
  });
  const jobs = Array.from({ length: 40 }, (_, index) => jobOf(random, index, providers));
  const leases = jobs.slice(0, 6).map((job, index): Lease => {
    const endedAt = new Date(now - random.pick([60, 3600]) * 1000);
    const times = { acquiredAt: endedAt, expiresAt: endedAt, endedAt };
    const nodeId = nodes[index]!.id;
    return {
      id: uuid(random),
      jobId: job.id,
      nodeId,
      tenant: 'host',
      attempt: 1,
      fence: 1,
      state: 'refused',
      ...times,
      endCode: 'X',
    };
  });
  return { jobs, nodes, leases };
}

function jobOf(random: Random, index: number, providers: readonly string[]): Job {
  const requirements = {
    ...(random.chance(0.2) ? { tee: random.pick([['snp'], ['snp', 'simulated-snp']]) } : {}),
    ...(random.chance(0.2) ? { tcb: 'current' } : {}),
    ...(random.chance(0.2) ? { cores: random.pick([2, 8]) } : {}),
    ...(random.chance(0.2) ? { memoryMiB: 1024 } : {}),
    ...(random.chance(0.2) ? { samplesPerSecond: random.whole(1, 80) } : {}),
  };
  const id = `0x${random.word().toString(16).padStart(8, '0')}${index}`;
  const times = { acceptByAt: new Date(now), createdAt: new Date(now), updatedAt: new Date(now) };
  return {
    id,
    seq: String(index + 1),
    tenant: random.pick(tenants),
    state: random.chance(0.9) ? 'submitted' : 'running',
    code: null,
    reason: null,
    escrowId: id,
    spec: Buffer.alloc(1),
    terms: {},
    provider: random.pick([zero, ...providers]),
    policy: Buffer.from([random.whole(0, 3)]),
    assurance: random.pick(['tee', 'tee', 'tee+zk', 'zk', 'sampled']),
    brokerUrl: 'http://127.0.0.1:9',
    datasetId: 'd',
    steps: '1',
    attempt: 1,
    fence: 0,
    setbacks: 0,
    notBefore: [null, new Date(now - 1000), new Date(now + 1000)][Math.max(0, (index % 9) - 6)] ?? null,
    leaseId: null,
    escrowState: 'open',
    funded: random.chance(0.9),
    priority: random.whole(3, 6),
    rank: String(random.whole(1, 12)),
    requirements,
    price: String(random.whole(1, 2500)),
    progress: null,
    settlementTransaction: null,
    deadlineAt: new Date(now + random.pick([-1, 60]) * 1000),
    idempotencyKey: null,
    parallel: random.pick([1, 1, 2]),
    startBlobs: null,
    attestedUntil: null,
    ...times,
  };
}

async function fill(source: Pick<DataSource, 'manager'>, { jobs, nodes, leases }: Scene): Promise<void> {
  const { manager } = source;
  for (const job of jobs) await manager.insert(Job, { ...job } as object);
  for (const node of nodes) await manager.insert(NodeRecord, { ...node } as object);
  for (const lease of leases) await manager.insert(Lease, { ...lease });
}

/** Every job that every node gets, in turn, and what else the queue is asked. */
async function answers(source: DataSource, queue: JobQueue, { jobs, nodes }: Scene): Promise<string[]> {
  const said: string[] = [];
  const { manager } = source;
  for (const tenant of tenants) said.push(`rank ${tenant} ${await queue.rankFor(manager, tenant)}`);
  for (const max of [1, 2]) said.push(`busy ${max} ${(await queue.busy(manager, max)).sort().join()}`);
  const since = new Date(now - 30_000);
  for (const job of jobs.slice(0, 10)) said.push(`other ${await queue.hasOtherNode(manager, job, since)}`);
  for (let round = 0; round < 8; round += 1) {
    for (const [index, node] of nodes.entries()) {
      const busy = round === 0 ? ['acme'] : [];
      const id = await source.transaction(async (transaction) => {
        const jobs = await queue.next(transaction, node, new Date(now), busy, 1 + (round % 2));
        const assigned = { state: 'assigned', fence: 1, leaseId: null, updatedAt: new Date(now) };
        if (jobs.length > 0)
          await queue.assign(
            transaction,
            jobs.map((job) => Object.assign(job, assigned)),
          );
        return jobs.map(({ id }) => id).join(' ');
      });
      said.push(`${index} ${id}`);
    }
  }
  return said;
}

describe('the queue', () => {
  const directory = mkdtempSync(join(tmpdir(), 'veritrain-queue-'));
  let database: Database;
  beforeAll(async () => {
    const cacheDirectory = defaultCacheDirectory();
    database = await openDatabase({ kind: 'embedded', dataDirectory: directory, cacheDirectory });
    const dataset = {
      id: 'd',
      tenant: 'acme',
      root: '',
      records: '1',
      shards: 1,
      manifest: {},
      createdAt: new Date(now),
    };
    await database.dataSource.manager.insert(Dataset, dataset as object);
  });
  afterAll(async () => {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each([1, 2, 3, 4, 5, 6])('answers the same in SQL and in memory, scene %i', async (seed) => {
    const scene = sceneOf(new Random(seed));
    const { dataSource } = database;
    await dataSource.query('TRUNCATE job, node, lease CASCADE');
    await fill(dataSource, scene);
    const store = await openStore('memory');
    const turns = {
      check: () => undefined,
      statement: () => Promise.resolve(),
      block: () => Promise.resolve(),
      committed: () => Promise.resolve(),
    };
    const memory = store.open(turns);
    await fill(memory, scene);
    const expected = await answers(dataSource, new JobQueue(), scene);
    expect(expected.filter((line) => /^\d 0x/.test(line)).length).toBeGreaterThan(2);
    expect(await answers(memory, store.queue!, scene)).toEqual(expected);
  });

  it('lets tenants take turns, whatever one of them has waiting, and looks at priority first', async () => {
    const { dataSource } = database;
    const queue = new JobQueue();
    await dataSource.query('TRUNCATE job, node, lease CASCADE');
    const random = new Random(1);
    const base = jobOf(random, 0, []);
    const open = { provider: zero, assurance: 'tee', requirements: {}, funded: true, state: 'submitted', priority: 5 };
    const submit = async (tenant: string, name: string, priority = 5): Promise<void> => {
      const rank = await queue.rankFor(dataSource.manager, tenant);
      const { seq: _seq, ...rest } = base;
      const row = {
        ...rest,
        ...open,
        id: name,
        escrowId: name,
        tenant,
        rank,
        priority,
        deadlineAt: new Date(now + 1000),
      };
      await dataSource.manager.insert(Job, row as object);
    };
    for (const n of [1, 2, 3, 4]) await submit('acme', `a${n}`);
    for (const n of [1, 2]) await submit('globex', `g${n}`);
    await submit('acme', 'background', 9);
    await submit('globex', 'urgent', 0);
    const node = Object.assign(sceneOf(random).nodes[0]!, {
      state: 'ready',
      capabilities: { tee: 'snp', cores: 1, memoryMiB: 1 },
    });
    const order: string[] = [];
    for (;;) {
      const [job] = await dataSource.transaction((manager) => queue.next(manager, node, new Date(now), [], 1));
      if (job === undefined) break;
      order.push(job.id);
      await dataSource.manager.update(Job, { id: job.id }, { state: 'assigned' });
    }
    expect(order).toEqual(['urgent', 'a1', 'a2', 'g1', 'a3', 'g2', 'a4', 'background']);
  });
});
