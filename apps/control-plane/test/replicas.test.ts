/** Two replicas on one database and one NATS server: either takes any message, and neither is the only one to know. */
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats, type NatsConnection } from '@nats-io/transport-node';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { firstValueFrom, timeout } from 'rxjs';
import request from 'supertest';
import { IsNull } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditEntry, JobEvent, Lease, OutboxMessage } from '#libs/persistence';
import { eventStream, natsOptions, pattern, subject, type LeaseGrant, type Pattern, protocolVersion } from '#libs/wire';
import { Sweeper } from '../src/claims/sweeper.js';
import { Bus } from '../src/core/events/bus.js';
import { DatabaseClock } from '../src/core/timing/clock.js';
import { jobTopic, Signals } from '../src/core/timing/signals.js';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import {
  acquire,
  advanceTo,
  capabilities,
  checkpoint,
  deliveryOf,
  providers,
  refOf,
  register,
  stateOf,
  submitFunded,
} from './job-fixture.js';
import { createTestDatabase, type TestDatabase } from './test-database.js';

const databaseUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
const natsUrl = process.env['VERITRAIN_TEST_NATS_URL'];
const hasServers = databaseUrl !== undefined && natsUrl !== undefined;
if (!hasServers) console.warn('SKIPPED: replicas need VERITRAIN_TEST_DATABASE_URL and VERITRAIN_TEST_NATS_URL');

/** The server as a replica sees it: away until opened. */
class Door {
  readonly #server: Server = createServer((near) => {
    const { hostname, port } = new URL(natsUrl!);
    const far = connect(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
      from.pipe(to);
    }
    this.#open.add(near);
  });
  readonly #open = new Set<{ destroy(): unknown }>();
  port = 0;

  async open(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as { port: number }).port;
  }

  async shut(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await closed;
  }
}

describe.runIf(hasServers)('two replicas', () => {
  let database: TestDatabase;
  let first: TestPlane;
  let second: TestPlane;
  let door: Door;
  let watcher: NatsConnection;
  beforeAll(async () => {
    database = await createTestDatabase(databaseUrl!);
    door = new Door();
    await door.open();
    const shared = { databaseUrl: database.url, nats: { urls: [natsUrl!], seed: null, ca: null } };
    first = await startTestPlane(shared);
    const nats = { urls: [`nats://127.0.0.1:${door.port}`], seed: null, ca: null };
    const replaced = { clock: first.clock, escrowReader: first.chain };
    second = await startTestPlane({ ...shared, nats, dataDirectory: first.dataDirectory }, replaced);
    watcher = await connectNats({ servers: [natsUrl!.replace('nats://', '')] });
    for (const { plane } of [first, second]) await plane.app.get(Bus).connection;
  });
  afterAll(async () => {
    await watcher?.close();
    await second?.stop();
    await first?.stop();
    await door?.shut();
    await database?.drop();
  });

  it('a lease’s messages may land at either, and end in one delivery', async () => {
    const job = await submitFunded(first);
    const nodeId = await register(second);
    const grant = await acquire(second, nodeId);
    await advanceTo(first, grant, 'running');
    await checkpoint(second, grant, job, 0);
    await checkpoint(first, grant, job, 1);
    const delivery = { ...refOf(grant), ...(await deliveryOf(first, job, [2])) };
    const both = [first, second, first, second].map((plane) => plane.send(pattern.leaseDeliver, delivery));
    expect(await Promise.all(both)).toEqual([{}, {}, {}, {}]);
    expect(await stateOf(second, job)).toMatchObject({ state: 'delivered', attempt: 1 });
    const { manager } = first.plane.database.dataSource;
    const delivered = await manager.countBy(AuditEntry, { action: 'job.deliver', subject: job.jobId });
    expect(delivered).toBe(1);
  });

  it('give one job to one node, however many ask them at once', async () => {
    const jobs = [await submitFunded(first), await submitFunded(first), await submitFunded(first)];
    const nodes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => register(n % 2 === 0 ? first : second, `n${n}`)),
    );
    const asked = nodes.map((nodeId, n) =>
      (n % 2 === 0 ? second : first).send<LeaseGrant | null>(pattern.leaseAcquire, { nodeId, waitMs: 0 }),
    );
    const granted = (await Promise.all(asked)).flatMap((grant) => (grant === null ? [] : [grant.job.jobId]));
    // Who looked while a row was locked saw the next one, or none: nobody saw the same.
    expect(new Set(granted).size).toBe(granted.length);
    for (const nodeId of nodes) {
      const grant = await first.send<LeaseGrant | null>(pattern.leaseAcquire, { nodeId, waitMs: 0 });
      if (grant !== null) granted.push(grant.job.jobId);
    }
    expect(granted.sort()).toEqual(jobs.map(({ jobId }) => jobId).sort());
  });

  it('hear of each other over NATS alone what no outbox row says', async () => {
    const job = await submitFunded(first);
    const grant = await acquire(first, await register(first, 'heard'));
    expect(grant.job.jobId).toBe(job.jobId);
    await advanceTo(first, grant, 'running');
    const heard = second.plane.app
      .get(Signals)
      .wait(jobTopic(job.jobId), 50_000)
      .then(() => 'heard');
    await first.send(pattern.leaseProgress, { ...refOf(grant), step: 1, of: 6 });
    expect(await heard).toBe('heard');
  });

  it('a key that one revokes is soon refused by the other', async () => {
    const wanted = { tenant: 'acme', role: 'client', name: 'short-lived' };
    const { body: made } = await first.as('admin').post('/v1/keys', wanted).expect(201);
    const ask = () =>
      request(second.plane.app.getHttpServer()).get('/v1/jobs').set('authorization', `Bearer ${made.key}`);
    await ask().expect(200);
    await first.as('admin').post(`/v1/keys/${made.id}/revoke`, {}).expect(200);
    await expect.poll(async () => (await ask()).status).toBe(401);
  });

  it('sweep at once: a lease ends once', async () => {
    const job = await submitFunded(first);
    const grant = await acquire(first, await register(first, 'swept'));
    const { manager } = first.plane.database.dataSource;
    await manager.update(Lease, { id: grant.leaseId }, { expiresAt: new Date(0) });
    first.clock.pass(31);
    const sweepers = [first, second].map(({ plane }) => plane.app.get(Sweeper));
    await Promise.all(sweepers.flatMap((sweeper) => [sweeper.sweep(), sweeper.sweep()]));
    expect(await stateOf(first, job)).toMatchObject({ state: 'submitted', attempt: 2, code: 'LEASE_EXPIRED' });
    const states = await manager.findBy(JobEvent, { jobId: job.jobId, type: 'state' });
    expect(states.filter(({ data }) => data['from'] === 'assigned')).toHaveLength(1);
  });

  it('a server that is away loses nothing: events wait in the outbox, waiters look for themselves', async () => {
    await Promise.all([first, second].map(({ plane }) => plane.app.get(Bus).onApplicationShutdown()));
    const job = await submitFunded(first);
    const { manager } = first.plane.database.dataSource;
    await expect
      .poll(() => manager.countBy(OutboxMessage, { subject: job.jobId, publishedAt: IsNull() }))
      .toBeGreaterThan(0);
    const grant = second.send<LeaseGrant>(pattern.leaseAcquire, {
      nodeId: await register(second, 'deaf'),
      waitMs: 5000,
    });
    expect(await grant).toMatchObject({ fence: expect.any(Number) });
    await second.restart();
    await expect.poll(() => manager.countBy(OutboxMessage, { publishedAt: IsNull() }), { interval: 200 }).toBe(0);
    const { state } = await (await jetstreamManager(watcher)).streams.info(eventStream, { subjects_filter: '>' });
    expect(Object.keys(state.subjects ?? {})).toContain(subject.event('job.assigned.v1'));
  });

  it('a connection that breaks comes back by itself, and a replica may start without a server', async () => {
    const bus = second.plane.app.get(Bus);
    await bus.connection;
    await door.shut();
    const third = await startTestPlane(
      { databaseUrl: database.url, nats: { urls: [`nats://127.0.0.1:${door.port}`], seed: null, ca: null } },
      { clock: first.clock, escrowReader: first.chain },
    );
    await third.as(null).get('/health/ready').expect(200);
    await expect(bus.publish([])).resolves.toBeUndefined();
    await door.open();
    await third.plane.app.get(Bus).connection;
    await third.stop();
  });
});

describe.runIf(natsUrl !== undefined)('dispatch over NATS', () => {
  let plane: TestPlane;
  let client: ClientProxy;
  beforeAll(async () => {
    const nats = { urls: [natsUrl!], seed: null, ca: null };
    plane = await startTestPlane({ nats });
    await plane.plane.app.get(Bus).connection;
    client = ClientProxyFactory.create({ transport: Transport.NATS, options: await natsOptions(nats, 'test node') });
    await client.connect();
  });
  afterAll(async () => {
    await client?.close();
    await plane?.stop();
  });
  const ask = <T>(name: Pattern, payload: object): Promise<T> =>
    firstValueFrom(client.send<T>(name, payload).pipe(timeout(15_000)));
  const auth = keys.operator;

  it('reaches the same handlers with the same checks', async () => {
    const job = await submitFunded(plane);
    const node = {
      ...{ auth, name: 'over-nats', provider: providers.operator, capabilities },
      protocol: protocolVersion,
    };
    const { nodeId } = await ask<{ nodeId: string }>(pattern.nodeRegister, node);
    const grant = await ask<LeaseGrant>(pattern.leaseAcquire, { auth, nodeId, waitMs: 0, holding: [] });
    expect(grant.job.jobId).toBe(job.jobId);
    expect(await ask(pattern.nodeHeartbeat, { auth, nodeId, leases: [refOf(grant)] })).toEqual({
      cancel: [],
      lost: [],
    });
    await expect(ask(pattern.nodeRegister, { ...node, auth: keys.client })).rejects.toMatchObject({
      code: 'ROLE_FORBIDDEN',
    });
    await expect(ask(pattern.leaseAcquire, { auth, nodeId: 'x', waitMs: 0 })).rejects.toMatchObject({ status: 400 });
  });

  it('survives bytes that are no message', async () => {
    const raw = await connectNats({ servers: [natsUrl!.replace('nats://', '')] });
    for (const bytes of [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      '{"id":1}',
      `{"id":"1","data":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    ]) {
      raw.publish(pattern.leaseAcquire, bytes, { reply: 'nowhere' });
      raw.publish(subject.event('x'), bytes);
      raw.publish(subject.wake('x'), bytes);
    }
    await raw.flush();
    await raw.close();
    await sleep(50);
    const { nodeId } = await ask<{ nodeId: string }>(pattern.nodeRegister, {
      ...{ auth, name: 'still-there', provider: providers.operator, capabilities, protocol: protocolVersion },
    });
    expect(nodeId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

it.runIf(databaseUrl !== undefined)(
  'the time of the database is the time of a replica, whatever its own clock says',
  async () => {
    const database = await createTestDatabase(databaseUrl!);
    const plane = await startTestPlane({ databaseUrl: database.url });
    const { dataSource } = plane.plane.database;
    const clock = await DatabaseClock.of(dataSource);
    const trueNow = Date.now;
    try {
      Date.now = () => 0;
      const [{ now }] = await dataSource.query<[{ now: Date }]>('SELECT clock_timestamp() AS now');
      expect(Math.abs(clock.now().getTime() - now.getTime())).toBeLessThan(2000);
    } finally {
      Date.now = trueNow;
    }
    await plane.stop();
    await database.drop();
  },
);
