/**
 * What is due in the transparency log gets there once: over a line that refuses and loses answers, through restarts of the
 * control plane in every state, on both engines.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Not } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import { makePublicEntry, parseEntry, parseLogProof, verifyEntry } from '#attestation/log';
import { bundleDigest, parseBundle, type EvidenceBundle } from '#attestation/records';
import { fetchCheckpoint, tilesOf, TileReader } from '#libs/log';
import { LogOutboxEntry } from '#libs/persistence';
import { pattern } from '#libs/wire';
import { startLogSite } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { LogSender } from '../src/evidence/log-sender.js';
import { startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  deliveryOf,
  refOf,
  register,
  submitFunded,
  type Fixture,
} from './job-fixture.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

const engines = ['embedded', 'PostgreSQL'] as const;
const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');

type Fault = 'none' | 'refused' | 'lost';

/** Between control plane and log: refuses to connect, or loses the answer to what the log has taken. */
class Line {
  faults: Fault[] = [];
  #server: Server;

  constructor(private readonly to: string) {
    this.#server = createServer((request, response) => {
      const fault = request.method === 'POST' ? (this.faults.shift() ?? 'none') : 'none';
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        if (fault === 'refused') return void response.destroy();
        const body = request.method === 'POST' ? { body: Buffer.concat(parts) } : {};
        fetch(`${this.to}${request.url}`, { method: request.method!, ...body }).then(
          async (answer) => {
            const text = Buffer.from(await answer.arrayBuffer());
            if (fault === 'lost') response.destroy();
            else response.writeHead(answer.status).end(text);
          },
          () => response.destroy(),
        );
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe.each(engines.filter((engine) => engine === 'embedded' || serverUrl !== undefined))('%s', (engine) => {
  let site: Awaited<ReturnType<typeof startLogSite>>;
  let line: Line;
  let test: TestPlane;
  let nodeId: string;
  let server: TestDatabase | null = null;
  const issuer = issuerOf('control-plane.example');

  beforeAll(async () => {
    site = await startLogSite([issuer.name]);
    line = new Line(site.url);
    const url = await line.start();
    if (engine === 'PostgreSQL') server = await createTestDatabase(serverUrl!);
    const watchKeyOf = (jobId: string): Uint8Array => fromHex(jobId);
    const log = { url, policy: site.policy, issuer, watchKeyOf, images: () => [] };
    test = await startTestPlane({ databaseUrl: server?.url ?? null, log });
    test.clock.pass(Math.floor(Date.now() / 1000) - test.clock.at());
    nodeId = await register(test);
  }, 60_000);
  afterAll(async () => {
    await test.stop();
    await server?.drop();
    line.stop();
    await site.stop();
  });

  async function delivered(): Promise<Fixture> {
    const job = await submitFunded(test);
    const grant = await acquire(test, nodeId);
    await advanceTo(test, grant, 'running');
    for (const index of [0, 1, 2]) await checkpoint(test, grant, job, index);
    await test.send(pattern.leaseDeliver, { ...refOf(grant), ...(await deliveryOf(test, job, [])) });
    return job;
  }

  /** Heads of the audit log come at every stop (`audit-heads.test.ts`). */
  const rows = () => {
    const where = { kind: Not('journal-head') };
    return test.plane.database.dataSource.manager.find(LogOutboxEntry, { where, order: { id: 'ASC' } });
  };
  const kindsOf = (entries: readonly Uint8Array[]): string[] =>
    entries.map((entry) => parseEntry(entry).kind).filter((kind) => kind !== 'journal-head');

  /** Restarts amid it, and lets the pauses between attempts pass. */
  async function settle(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      const open = (await rows()).filter(({ endedAt }) => endedAt === null);
      if (open.length === 0) return;
      test.clock.pass(61);
      await Promise.allSettled([test.plane.app.get(LogSender).send(), round % 3 === 1 ? test.restart() : null]);
    }
    throw new Error(`still due: ${JSON.stringify((await rows()).map(({ code }) => code))}`);
  }

  async function bundleOf(job: Fixture): Promise<EvidenceBundle> {
    const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}/bundle`).expect(200);
    const bundle = parseBundle(new Uint8Array(body as Buffer));
    if (bundle.version !== 4) throw new Error('another version');
    return bundle;
  }

  async function logged(): Promise<Uint8Array[]> {
    const { checkpoint: head } = await fetchCheckpoint(site.url, site.policy);
    return new TileReader(tilesOf(site.url), head.size).entries(0);
  }

  it('loses nothing and logs nothing twice, whatever the line does', async () => {
    line.faults = ['lost', 'refused', 'lost', 'lost', 'none', 'refused', 'lost'];
    const jobs = [await delivered(), await delivered(), await delivered()];
    expect((await rows()).map(({ kind }) => kind).toSorted()).toEqual([
      ...['job-bundle', 'job-bundle', 'job-bundle', 'policy'],
    ]);
    await settle();
    const entries = await logged();
    expect(kindsOf(entries).toSorted()).toEqual([...['job-bundle', 'job-bundle', 'job-bundle', 'policy']]);
    for (const job of jobs) {
      const bundle = await bundleOf(job);
      expect(bundle.log!.entries.map(({ entry }) => parseEntry(entry).kind)).toEqual(['policy', 'job-bundle']);
      for (const { entry, proof } of bundle.log!.entries) {
        await verifyEntry(entry, issuer.publicKey);
        expect(entries.map(to0x)[parseLogProof(proof).index]).toBe(to0x(entry));
      }
      const [row] = (await rows()).filter(({ subject }) => subject === job.jobId);
      expect(row!.bundle).toBe(to0x(bundleDigest(bundle)));
      const shown = (await test.as('reviewer').get(`/v1/log/entries?job=${job.jobId}`).expect(200)).body as {
        items: { kind: string; index: number; proof: string; state: string }[];
      };
      const own = shown.items.find(({ kind }) => kind === 'job-bundle')!;
      expect(own).toMatchObject({ state: 'logged', proof: row!.proof, index: parseLogProof(row!.proof!).index });
      expect((await test.as('otherReviewer').get(`/v1/log/entries?job=${job.jobId}`)).body.items).toEqual([]);
    }
    const state = (await test.as('client').get('/v1/log').expect(200)).body as object;
    expect(state).toMatchObject({ logged: 4, waiting: 0, witnesses: site.policy.witnesses.map(({ name }) => name) });
    expect((await test.as('otherClient').get('/v1/log').expect(200)).body).toMatchObject({ logged: 0, waiting: 0 });
  }, 120_000);

  it('offers the bundle without a log while the log is away, and logs it when it is back', async () => {
    const before = kindsOf(await logged()).length;
    line.faults = Array.from({ length: 1000 }, () => 'refused' as const);
    const job = await delivered();
    await test.plane.app.get(LogSender).send();
    await test.restart();
    expect((await bundleOf(job)).log).toBeUndefined();
    line.faults = [];
    await settle();
    const { log } = await bundleOf(job);
    expect(log!.entries).toHaveLength(2);
    expect(kindsOf(await logged()).length).toBe(before + 1);
  }, 120_000);

  it('logs a bundle again that is another, and one that is the same once', async () => {
    const job = await delivered();
    await settle();
    const before = kindsOf(await logged()).length;
    const { manager } = test.plane.database.dataSource;
    const due = { kind: 'job-bundle', subject: job.jobId, data: {}, attempts: 0 };
    await manager.insert(LogOutboxEntry, { ...due, nextAt: test.clock.now(), createdAt: test.clock.now() });
    await settle();
    expect(kindsOf(await logged()).length).toBe(before);
    expect((await rows()).at(-1)).toMatchObject({ code: 'LOG_NOTHING', entry: null });
    expect((await bundleOf(job)).log).toBeDefined();
  }, 120_000);

  it('makes an entry anew that waited until no log takes it', async () => {
    test.clock.pass(Math.floor(Date.now() / 1000) - test.clock.at());
    const before = kindsOf(await logged()).length;
    line.faults = Array.from({ length: 1000 }, () => 'refused' as const);
    const job = await delivered();
    // The sender's own loop may have claimed it: the row is changed only when no attempt is under way.
    await test.plane.app.get(LogSender).send();
    await expect.poll(async () => (await rows()).at(-1)).toMatchObject({ subject: job.jobId, attempts: 1 });
    const { id } = (await rows()).at(-1)!;
    const stale = await makePublicEntry(
      issuer,
      'policy',
      { id: 'test', digest: new Uint8Array(32), document: null, signers: [], validFrom: 0 },
      test.clock.at() - 8 * 86_400,
    );
    await test.plane.database.dataSource.manager.update(LogOutboxEntry, { id }, { entry: Buffer.from(stale) });
    line.faults = [];
    await settle();
    const { log } = await bundleOf(job);
    expect(log!.entries.map(({ entry }) => parseEntry(entry).kind)).toEqual(['policy', 'job-bundle']);
    expect(kindsOf(await logged()).length).toBe(before + 1);
  }, 120_000);
});
