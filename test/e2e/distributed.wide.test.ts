/**
 * A cluster from installed servers, as `veritrain up --profile distributed` starts it: a database that is restored in
 * mid-job, a release that is rolled out under a running job, and an end that leaves nothing behind.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CollateralError } from '#attestation/base';
import { fetchBundle, followJob, type JobView, type Submitted } from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { logOf, untilLogged } from '../../apps/cli/src/demo/logged.js';
import { startDistributed, type DistributedSystem } from '../../apps/cli/src/system/distributed.js';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import { checkDatabase, checkPaidOnce } from '../faults/checks.js';
import { openClient, type FaultClient } from '../faults/jobs.js';
import { isAlive } from '../faults/processes.js';
import { checkpointAt, toldEvent } from '../support/embedded.js';
import { openGate, type Gate } from '../support/gate.js';

/** A node's question for a job stands for so long at most (apps/host-agent, 2 s). */
const questionMilliseconds = 2_500;

const binaries = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'nats-server'];
const hasServers = binaries.every((binary) => {
  try {
    return findServer(binary, '') !== '';
  } catch {
    return false;
  }
});
if (!hasServers) console.warn(`SKIPPED: the distributed system needs ${binaries.join(', ')} on this machine`);

const vendorFile = join(tmpdir(), 'veritrain-test-simulated-vendor.json');
const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-distributed-'));
  chmodSync(folder, 0o711);
  folders.push(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

describe.runIf(hasServers)('a cluster', () => {
  let folder: string;
  let system: DistributedSystem;
  let client: FaultClient;
  let gate: Gate;
  const segmentSteps = 500;
  const controlPlane = { VERITRAIN_LEASE_SECONDS: '4', VERITRAIN_HEARTBEAT_SECONDS: '1' };
  beforeAll(async () => {
    folder = newFolder();
    gate = openGate(join(folder, 'gate'));
    system = await startDistributed({
      ...{ folder: join(folder, 'system'), vendorFile, controlPlane, answerSeconds: 3, log: true },
      environment: (part) => (part.startsWith('node-') ? gate.environment : {}),
    });
    const urls = [system.urls['controlPlane']!, system.urls['secondReplica']!];
    client = await openClient(join(folder, 'client'), system.profileFile, system.provider, urls);
  }, 240_000);
  afterAll(async () => {
    client?.close();
    await system?.stop();
  });

  const replicas = ['replica-1', 'replica-2'] as const;
  const nodes = ['node-tls', 'node-nats'] as const;
  const query = async <T>(sql: string): Promise<T[]> => {
    const session = new pg.Client({ connectionString: system.databaseUrl });
    await session.connect();
    try {
      return (await session.query(sql)).rows as T[];
    } finally {
      await session.end();
    }
  };

  const plain = (steps: number) => ({ steps, segmentSteps, parallel: 1 });

  /** Holds a job at its first checkpoint while `work` is done, and follows it to its delivery. */
  async function atCheckpoint(steps: number, work: () => Promise<void>): Promise<Submitted> {
    gate.holdAt(segmentSteps);
    const submitted = await client.submit(plain(steps));
    await patiently(() => toldEvent(client.api, submitted.jobId, checkpointAt(segmentSteps)));
    await work();
    gate.open();
    await patiently(() => followJob(submitted.jobId, client.api, () => undefined, ['delivered', 'settled']));
    return submitted;
  }

  /** Again where nobody answered. */
  async function patiently<T>(look: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await look();
      } catch (error) {
        if (!(error instanceof CollateralError)) throw error;
      }
    }
  }

  async function expectRight(jobId: string, steps: number, terms: Parameters<typeof checkPaidOnce>[0]): Promise<void> {
    expect((await client.settle(jobId)).stateDigest).toBe(await client.undisturbed(plain(steps)));
    expect(await checkPaidOnce(terms, client.profile)).toEqual([]);
    expect(await checkDatabase(system.databaseUrl, jobId, plain(steps))).toEqual([]);
  }

  /** All checks of the log are met, whichever replica made its entries, but for what a newer log would say. */
  async function expectLogged(jobId: string): Promise<void> {
    const { policy: file } = client.profile;
    const { policy } = readPolicy(file);
    const bundle = join(folder, 'logged.bundle');
    writeFileSync(bundle, await untilLogged(() => fetchBundle(jobId, client.profile, policy, client.api)));
    const { checks } = await verifyBundleFile(bundle, { policy: file, logPolicy: system.logPolicy! });
    const { met, total } = logOf(checks, system.logPolicy!);
    expect([met, total]).toEqual([8, 9]);
  }

  const backUp = (file: string): void => tool('pg_dump', '--format=custom', `--file=${file}`);
  function tool(name: string, ...args: string[]): void {
    execFileSync(findServer(name, ''), [`--dbname=${system.databaseUrl}`, ...args], { stdio: 'pipe' });
  }

  /** In place of all that came after the backup. */
  async function restore(file: string, alter?: string): Promise<void> {
    await Promise.all(replicas.map((replica) => system.kill(replica)));
    await query('DROP SCHEMA public CASCADE');
    await query('CREATE SCHEMA public');
    tool('pg_restore', '--exit-on-error', '--single-transaction', file);
    if (alter !== undefined) await query(alter);
    await Promise.all(replicas.map((replica) => system.start(replica)));
  }

  it('a database that is lost in mid-job and restored from its backup: the job ends in the same bits, paid once', async () => {
    const steps = 2000;
    const backup = join(folder, 'backup.dump');
    const { jobId, terms } = await atCheckpoint(steps, async () => {
      backUp(backup);
      await restore(backup);
    });
    await expectRight(jobId, steps, terms);
  }, 300_000);

  it('a database restored from before a lease, and before its node was known: the result on chain is handed out', async () => {
    const steps = 1000;
    const backup = join(folder, 'early.dump');
    await Promise.all(nodes.map((node) => system.kill(node)));
    // Over NATS nobody sees that a node is gone: a job that comes while its question stands is given to it.
    await setTimeout(questionMilliseconds);
    const { jobId, terms } = await client.submit(plain(steps));
    backUp(backup);
    await system.start('node-tls');
    await client.chain.untilCommitted(terms);
    await patiently(() => followJob(jobId, client.api, () => undefined, ['delivered']));
    await system.kill('node-tls');
    await restore(backup, 'TRUNCATE "node" CASCADE');
    expect(await query('SELECT * FROM "lease"')).toEqual([]);
    const untilItIs = async (state: string) =>
      expect.poll(async () => (await client.api.get<JobView>(`jobs/${jobId}`)).state, { timeout: 120_000 }).toBe(state);
    await untilItIs('failed');
    await Promise.all(nodes.map((node) => system.start(node)));
    await untilItIs('delivered');
    expect((await client.settle(jobId)).stateDigest).toBe(await client.undisturbed(plain(steps)));
    expect(await checkPaidOnce(terms, client.profile)).toEqual([]);
    const restored = await query(`SELECT "subject" FROM "audit_log" WHERE "action" = 'lease.restore'`);
    expect(restored).toEqual([{ subject: jobId }]);
  }, 300_000);

  it('nodes that the database has forgotten under them are back by themselves, under their ids', async () => {
    const known = () => query<{ id: string }>('SELECT "id" FROM "node" ORDER BY "name"');
    const before = await known();
    expect(before).toHaveLength(nodes.length);
    await query('TRUNCATE "node" CASCADE');
    await expect.poll(known, { timeout: 60_000, interval: 200 }).toEqual(before);
  }, 90_000);

  it('a release is rolled out under a running job: the old replica works on the new schema beside the new one', async () => {
    const steps = 2000;
    const { jobId, terms } = await atCheckpoint(steps, async () => {
      await system.kill('replica-2');
      // What the migrations of a next release may do, while the replica of this one goes on.
      await query('ALTER TABLE "job" ADD "next_release" text');
      await query(`ALTER TABLE "lease" ADD "next_release" int NOT NULL DEFAULT 7`);
      await query('CREATE TABLE "next_release" ("id" uuid PRIMARY KEY)');
      await query(`INSERT INTO "migrations" ("timestamp", "name") VALUES (9999999999999, 'NextRelease9999999999999')`);
      // Rolled back: this release starts on the schema of the next.
      await system.start('replica-2');
      await system.kill('replica-1');
      await system.start('replica-1');
    });
    await expectRight(jobId, steps, terms);
    expect(await query('SELECT DISTINCT "next_release" FROM "lease"')).toEqual([{ next_release: 7 }]);
    await expectLogged(jobId);
  }, 300_000);
});

describe.runIf(hasServers)('veritrain up --profile distributed', () => {
  const built = import.meta.url.endsWith('.js');
  const main = fileURLToPath(new URL(`../../apps/cli/src/main.${built ? 'js' : 'ts'}`, import.meta.url));
  const flags = ['--conditions=source', '--import', '@oxc-node/core/register'];
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
    spawn(process.execPath, [...(built ? [] : flags), main, 'up', '--profile', 'distributed', ...args], { env });
  const started: ReturnType<typeof run>[] = [];
  afterAll(() => started.forEach((child) => child.kill('SIGTERM')));

  it('says in one document where everything is, and leaves no process behind', async () => {
    const folder = newFolder();
    const child = run(['--folder', folder, '--port', '0', '--json']);
    started.push(child);
    let out = '';
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => out.includes('\n') || child.exitCode !== null, { timeout: 200_000 }).toBe(true);
    const ready = JSON.parse(out) as Record<string, string>;
    expect(ready).toMatchObject({ ready: true, profile: join(folder, 'up', 'client.json') });
    expect(await (await fetch(`${ready['log']}/health/ready`)).json()).toEqual({ status: 'ok' });
    for (const replica of [ready['controlPlane'], ready['secondReplica']]) {
      expect(await (await fetch(`${replica}/health/ready`)).json()).toMatchObject({ status: 'ok', database: 'ok' });
    }
    const postmaster = Number(readFileSync(join(folder, 'up', 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(child.pid)], { encoding: 'utf8' });
    const pids = children.split('\n').filter(Boolean).map(Number);
    expect(pids).toContain(postmaster);
    expect(pids.length).toBeGreaterThanOrEqual(8);
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(child.exitCode).toBe(0);
    expect(said).toMatch(/SIGTERM: stopping\n(.*\n)*stopped\n/);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(join(folder, 'up', 'postgres', 'postmaster.pid'))).toBe(false);
  }, 300_000);
});

it('says what to install where a server is missing', () => {
  expect(() => findServer('no-such-server', 'its package')).toThrow(
    expect.objectContaining({
      code: 'SERVER_MISSING',
      detail: expect.objectContaining({ action: 'install it: its package' }),
    }),
  );
  if (hasServers) expect(dirname(findServer('postgres', ''))).not.toBe('');
});
