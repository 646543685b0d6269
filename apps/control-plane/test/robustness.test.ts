/** Untrusted bytes, a database that goes away, too many requests: answered with a code, never with a crash. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import request from 'supertest';
import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { limits, pattern, type Pattern } from '#libs/wire';
import { codeOf, keys, startTestPlane, type TestPlane } from './harness.js';
import { register, sha256, storeBlob, submitFunded } from './job-fixture.js';
import { createTestDatabase } from './test-database.js';

describe('dispatch', () => {
  let test: TestPlane;
  beforeAll(async () => {
    test = await startTestPlane();
  });
  afterAll(async () => test.stop());

  const throwAt = (bytes: Buffer | string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(test.plane.dispatchPort, '127.0.0.1', () => socket.end(bytes));
      socket.on('error', () => resolve());
      socket.on('close', () => resolve());
      socket.resume();
    });
  const frame = (value: unknown): string => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${text.length}#${text}`;
  };

  it('survives bytes that are no message', async () => {
    const junk: (Buffer | string)[] = [
      randomBytes(4096),
      '#',
      '-5#{}',
      '1e9#',
      `${limits.frameCharactersMax * 2}#${'x'.repeat(1000)}`,
      frame('{'),
      frame('null'),
      frame('[]'),
      frame('"x"'),
      frame({ pattern: null, data: null, id: '1' }),
      frame({ pattern: { a: [] }, data: {}, id: '1' }),
      frame({ pattern: pattern.leaseAcquire, id: '1' }),
      frame({ pattern: pattern.leaseAcquire, data: null, id: '1' }),
      frame({ pattern: pattern.leaseAcquire, data: { auth: {} }, id: '1' }),
      frame({ pattern: pattern.leaseAcquire, data: { auth: keys.operator } }),
      frame({ pattern: '__proto__', data: { auth: keys.operator }, id: '1' }),
      frame('['.repeat(50_000) + ']'.repeat(50_000)),
      frame(`{"pattern":"nope","id":"1","data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
      frame(`{"pattern":"nope","data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
      frame(`{"pattern":"${pattern.leaseAcquire}","id":"1","data":{"auth":"${keys.operator}","a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`), // prettier-ignore
    ];
    for (const bytes of junk) await throwAt(bytes);
    expect(await register(test)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('refuses an oversize frame and drops its connection', async () => {
    await throwAt('x'.repeat(limits.frameCharactersMax + 10));
    await test.as(null).get('/health/live').expect(200);
  });

  it('refuses messages that do not fit their schema, each pattern', async () => {
    for (const name of Object.values(pattern)) {
      expect(await codeOf(test.send(name as Pattern, { leaseId: 7, nodeId: [], name: {} })), name).toBe(
        'REQUEST_MALFORMED',
      );
    }
    expect(await codeOf(test.send('no.such.v1' as Pattern, {}))).toBe('PATTERN_UNKNOWN');
    expect(await codeOf(test.send({ no: 'text' } as unknown as Pattern, {}))).toBe('MESSAGE_MALFORMED');
  });

  it('refuses fences that the database cannot hold', async () => {
    const nodeId = await register(test, 'fenced');
    const task = { nodeId, jobId: `0x${'00'.repeat(32)}`, index: 0, fence: 2 ** 31 };
    for (const name of [pattern.segmentProgress, pattern.proofFail]) {
      const message = { ...task, step: 1, code: 'TEST_FAILURE', detail: '' };
      expect(await codeOf(test.send(name, message)), name).toBe('REQUEST_MALFORMED');
      expect(await codeOf(test.send(name, { ...message, fence: 2 ** 31 - 1 })), name).not.toMatch(/INTERNAL|MALFORMED/);
    }
  });

  /** Milliseconds until the other side closes; null where it does not within some seconds beyond the limit. */
  const closedAfter = (bytes: Buffer | string, again?: string): Promise<number | null> =>
    new Promise((resolve) => {
      const began = performance.now();
      const socket = connect(test.plane.dispatchPort, '127.0.0.1', () => socket.write(bytes));
      const repeat = setInterval(() => again !== undefined && socket.write(again), 1000);
      const late = setTimeout(() => end(null), 1000 * (2 * limits.unauthenticatedSecondsMax + 5));
      const end = (outcome: number | null): void => {
        clearInterval(repeat);
        clearTimeout(late);
        socket.destroy();
        resolve(outcome);
      };
      socket.on('error', () => undefined);
      socket.on('close', () => end(performance.now() - began));
      socket.resume();
    });

  it.each<[string, Buffer | string]>([
    ['HTTP', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a frame of 999,999,999,999 bytes', '999999999999#'],
    ['a frame of one more than there may be', `${limits.frameCharactersMax + 1}#`],
    ['a length that does not end', '000000000'],
    ['random bytes', Buffer.from([0x16, 3, 1, 2, 0])],
  ])('W-L7 closes at once at %s', async (_what, bytes) => {
    expect(await closedAfter(bytes)).toBeLessThan(2000);
  });

  it('W-L7 closes in time where no key is accepted, whatever is sent', async () => {
    const bad = frame({ pattern: pattern.leaseAcquire, data: { auth: 'vt_none_0123456789abcdef' }, id: '1' });
    const closed = await Promise.all([
      closedAfter(''),
      closedAfter('5'),
      closedAfter('1000#{', ' '),
      closedAfter(bad, bad),
      closedAfter(frame({ pattern: pattern.leaseAcquire, data: { auth: keys.operator } })),
      closedAfter(frame({ pattern: 'no.such.v1', data: {}, id: '1' })),
    ]);
    for (const milliseconds of closed) {
      expect(milliseconds).not.toBeNull();
      expect(milliseconds).toBeGreaterThan(1000 * limits.unauthenticatedSecondsMax - 1000);
    }
  });

  it('W-L7 keeps who gave a key, idle or not, and who waits for an answer', async () => {
    const nodeId = await register(test, 'quiet');
    const question = { pattern: pattern.leaseAcquire, data: { auth: keys.operator, nodeId, waitMs: 9000 }, id: '1' };
    expect(await closedAfter(frame(question))).toBeNull();
  });

  it('W-L7 buffers so much of strangers’ frames in all, and again when they are gone', async () => {
    const half = `${limits.frameCharactersMax}#${'x'.repeat(limits.frameCharactersMax / 2)}`;
    const count = (3 * limits.unauthenticatedCharactersMax) / limits.frameCharactersMax;
    const sockets = Array.from({ length: count }, () => {
      const socket = connect(test.plane.dispatchPort, '127.0.0.1', () => socket.write(half));
      socket.on('error', () => undefined).resume();
      return socket;
    });
    const open = () => sockets.filter(({ destroyed }) => !destroyed).length;
    await expect.poll(open).toBeLessThanOrEqual((2 * limits.unauthenticatedCharactersMax) / limits.frameCharactersMax);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => register(test, 'afterwards').catch(() => '')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('gives no job to a caller who has hung up', async () => {
    const nodeId = await register(test, 'gone');
    const data = { auth: keys.operator, nodeId, waitMs: 10_000 };
    const socket = connect(test.plane.dispatchPort, '127.0.0.1');
    socket.write(frame({ pattern: pattern.leaseAcquire, data, id: '1' }));
    await sleep(200);
    socket.destroy();
    await sleep(200);
    const job = await submitFunded(test);
    const { body } = await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200);
    expect(body.state).toBe('submitted');
  });
});

describe('limits', () => {
  it('count an address whatever keys it invents, and an accepted key by itself', async () => {
    const test = await startTestPlane({ addressRequestsPerMinute: 5 });
    const server = test.plane.app.getHttpServer();
    const invented = (n: number) =>
      request(server)
        .get('/v1/jobs')
        .set('authorization', `Bearer vt_key${n}_${'x'.repeat(16)}`);
    for (let n = 0; n < 5; n += 1) await invented(n).expect(401);
    const { body } = await invented(5).expect(429);
    expect(body.code).toBe('RATE_LIMITED');
    await test.stop();
  });

  it('bound what one operator stores', async () => {
    const test = await startTestPlane({ operatorBlobBytesMax: 100 });
    await storeBlob(test);
    const bytes = new Uint8Array(64);
    const put = test.as('operator').put(`/v1/blobs/${to0x(sha256(bytes))}`, bytes);
    expect((await put.expect(413)).body.code).toBe('BLOB_QUOTA');
    await test.stop();
  });

  it('answer 429 with the time to wait, for each key apart', async () => {
    const test = await startTestPlane({ requestsPerMinute: 5 });
    for (let n = 0; n < 5; n += 1) await test.as('client').get('/v1/jobs').expect(200);
    const { body, headers, type } = await test.as('client').get('/v1/jobs').expect(429);
    expect(type).toBe('application/problem+json');
    expect(body.code).toBe('RATE_LIMITED');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    await test.as('reviewer').get('/v1/jobs').expect(200);
    await test.stop();
  });
});

/** Breaks the connection; further ones are refused until `restore`. */
async function takeAway(dataSource: DataSource): Promise<{ restore(): void }> {
  const { options } = (dataSource.driver as unknown as { master: { options: { stream: unknown } } }).master;
  const { stream } = options;
  options.stream = () => new RefusingSocket();
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as { connection: { stream: Duplex } };
  const broken = client.connection.stream;
  broken.destroy();
  if (!broken.closed) await once(broken, 'close');
  await runner.release().catch(() => undefined);
  return { restore: () => void (options.stream = stream) };
}

class RefusingSocket extends Duplex {
  connect(): this {
    queueMicrotask(() => this.destroy(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
    return this;
  }
  setNoDelay(): void {}
  setKeepAlive(): void {}
  override _read(): void {}
}

describe('a database that goes away', () => {
  it('embedded: every call answers 503 with a code, liveness stays, and service comes back', async () => {
    const test = await startTestPlane();
    const nodeId = await register(test);
    const away = await takeAway(test.plane.database.dataSource);
    for (const path of ['/v1/jobs', '/v1/nodes', '/health/ready']) {
      const { body, type, status } = await test.as('client').get(path);
      expect([status, body.code, type]).toEqual([503, 'DATABASE_UNAVAILABLE', 'application/problem+json']);
    }
    await test.as(null).get('/health/live').expect(200);
    const beat = { nodeId, leases: [] };
    expect(await codeOf(test.send(pattern.nodeHeartbeat, beat))).toBe('DATABASE_UNAVAILABLE');
    away.restore();
    await test.as('client').get('/v1/jobs').expect(200);
    expect(await codeOf(test.send(pattern.nodeHeartbeat, beat))).toBe('ok');
    await test.stop();
  });

  const url = process.env['VERITRAIN_TEST_DATABASE_URL'];
  if (url === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');
  it.skipIf(url === undefined)('PostgreSQL: connections killed under load heal by themselves', async () => {
    const server = await createTestDatabase(url!);
    const test = await startTestPlane({ databaseUrl: server.url });
    const nodeId = await register(test);
    const jobs = [await submitFunded(test), await submitFunded(test)];
    const kill = () =>
      server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, [server.name]);
    const statuses = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const calls = Array.from({ length: 10 }, () => test.as('client').get('/v1/jobs'));
      await kill();
      for (const { status } of await Promise.all(calls)) statuses.add(status);
    }
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await test.as('client').get('/v1/jobs').expect(200);
    const asked = Array.from({ length: 8 }, () =>
      test.send<{ job: { jobId: string } } | null>(pattern.leaseAcquire, { nodeId, waitMs: 0 }),
    );
    const given = (await Promise.all(asked)).flatMap((grant) => (grant === null ? [] : [grant.job.jobId]));
    expect(given.sort()).toEqual(jobs.map((job) => job.jobId).sort());
    await test.stop();
    await server.drop();
  });
});
