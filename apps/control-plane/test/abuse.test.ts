/** What strangers and revoked keys can do at the HTTP port: attacks that worked once, over the real application. */
import { get, request as startRequest } from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateSync, gzipSync } from 'node:zlib';
import { getIntrospectionQuery } from 'graphql';
import { createClient } from 'graphql-ws';
import request from 'supertest';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ApiKey } from '#libs/persistence';
import { pattern } from '#libs/wire';
import { ApiKeys } from '../src/core/auth/api-keys.js';
import { KeyWatch } from '../src/core/auth/key-watch.js';
import { Streams } from '../src/core/overload/streams.js';
import { keys, startTestPlane, StillClock, type TestPlane } from './harness.js';
import { capabilities, providers, submitFunded } from './job-fixture.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: unknown };

let test: TestPlane;
beforeAll(async () => {
  // A machine under load is no reason to give up on a request.
  const connections = { headersMilliseconds: 60_000, requestMilliseconds: 120_000, stalledMilliseconds: 60_000 };
  test = await startTestPlane({}, { connections });
});
afterAll(async () => test.stop());
afterEach(() => vi.restoreAllMocks());

const server = () => request(test.plane.app.getHttpServer());

describe('bodies without a key', () => {
  /** The body of the attack: 4,170,010 bytes that parse to 1.39 million lists. */
  const hostile = Buffer.from(`{"a":[${'[],'.repeat(1_390_000)}[]]}`);
  let sends = 0;
  const send = (path: string, key?: string, body = hostile) => {
    const call = server()
      .post(path)
      .set('content-type', 'application/json')
      .set('idempotency-key', `w-h3-${(sends += 1)}`);
    if (key !== undefined) void call.set('authorization', `Bearer ${key}`);
    return call.serialize(String).send(body.toString());
  };

  /** As bytes, so that the attacker costs this process little. @returns the status */
  const throwAt = (path: string, key?: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': String(hostile.length) };
      const call = startRequest(`http://127.0.0.1:${test.plane.httpPort}${path}`, {
        method: 'POST',
        headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      });
      call.once('response', (response) => {
        resolve(response.statusCode!);
        response.resume();
      });
      call.once('error', reject);
      call.end(hostile);
    });

  it('W-H3 are refused before anything is read or parsed, on every route, in bounded memory, and others are served', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const longest = () => Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    const routes = [
      '/v1/datasets',
      '/v1/jobs',
      '/v1/webhooks',
      '/v1/keys',
      '/v1/jobs/x/cancel',
      '/graphql',
      '/v1/none',
    ];
    const before = process.memoryUsage().rss;
    let served = 0;
    let isOver = false;
    const victim = (async () => {
      while (!isOver) {
        await test.as('client').get('/v1/jobs?limit=1').expect(200);
        served += 1;
      }
    })();
    for (let round = 0; round < 2; round += 1) {
      const sent = routes.flatMap((path) => [throwAt(path), throwAt(path, 'vt_nobody_test-secret-of-nobody')]);
      const statuses = await Promise.all(sent);
      for (const [at, status] of statuses.entries()) expect(status).toBe(routes[at >> 1] === '/v1/none' ? 404 : 401);
    }
    isOver = true;
    await victim;
    expect(served).toBeGreaterThan(0);
    expect(longest()).toBeLessThan(1_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
  });

  it('W-H3 are refused with a bad role or a spent rate as well, before they are read', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    expect((await send('/v1/datasets', keys.operator)).status).toBe(403);
    expect(Math.max(0, ...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(1_000_000);
    const slow = await startTestPlane({ requestsPerMinute: 2 }, { clock: new StillClock() });
    try {
      const ask = () =>
        request(slow.plane.app.getHttpServer())
          .post('/v1/datasets')
          .set({ authorization: `Bearer ${keys.client}`, 'content-type': 'application/json', 'idempotency-key': 'x' })
          .send(hostile.toString());
      const statuses = [(await ask()).status, (await ask()).status, (await ask()).status];
      expect(statuses).toEqual([400, 400, 429]);
    } finally {
      await slow.stop();
    }
  });

  it('W-H3 four MiB are for new data sets and jobs alone, with a good key, and not for a million values', async () => {
    const text = (bytes: number) => Buffer.from(JSON.stringify({ a: 'x'.repeat(bytes - 8) }));
    for (const path of ['/v1/webhooks', '/v1/jobs/x/cancel', '/graphql']) {
      expect((await send(path, keys.client, text(64 * 1024 + 1))).status, path).toBe(413);
    }
    for (const path of ['/v1/datasets', '/v1/jobs']) {
      expect((await send(path, keys.client, text(4 * 2 ** 20))).body.code, path).toBe('REQUEST_MALFORMED');
      expect((await send(path, keys.client, text(4 * 2 ** 20 + 1))).status, path).toBe(413);
      expect((await send(path, keys.client)).body.code, path).toBe('JSON_VALUES');
    }
  });

  it('W-H3 what is unpacked counts, and a packed body of an ordinary size is taken', async () => {
    const packed = (bytes: Buffer, path = '/v1/datasets') =>
      server()
        .post(path)
        .set({ authorization: `Bearer ${keys.client}`, 'content-type': 'application/json', 'idempotency-key': 'gz' })
        .set('content-encoding', 'gzip')
        .serialize((value) => value as string)
        .send(gzipSync(bytes) as unknown as string);
    expect((await packed(Buffer.alloc(50 * 2 ** 20, 0x20))).status).toBe(413);
    const query = Buffer.from(JSON.stringify({ query: '{ __typename }' }));
    expect((await packed(query, '/graphql')).body).toEqual({ data: { __typename: 'Query' } });
  });

  it('a packed body that is refused before it breaks ends no process', async () => {
    const blanks = deflateSync(Buffer.alloc(16_484, 0x20), { finishFlush: constants.Z_SYNC_FLUSH });
    const body = Buffer.concat([blanks, Buffer.from([255, 255, 255, 255])]);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'deflate' };
    const where = { port: test.plane.httpPort, path: '/console/session', method: 'POST', headers };
    const status = await new Promise((resolve, reject) => {
      const sent = startRequest(where, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject);
      sent.end(body);
    });
    expect(status).toBe(413);
    await sleep(100);
    await test.as(null).get('/health/live').expect(200);
  });
});

describe('a key that is refused', () => {
  async function keyOf(changes: object = {}): Promise<{ id: string; key: string }> {
    const wanted = { tenant: 'acme', role: 'reviewer', ...changes };
    return (await test.as('admin').post('/v1/keys', wanted).expect(201)).body as { id: string; key: string };
  }

  /** Resolves when the stream has ended. */
  function followByEvents(jobId: string, key: string): { opened: Promise<void>; ended: Promise<string> } {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const url = `http://127.0.0.1:${test.plane.httpPort}/v1/jobs/${jobId}/events`;
    const ended = new Promise<string>((resolve, reject) => {
      get(url, { headers: { authorization: `Bearer ${key}` } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          open();
        });
        response.on('end', () => resolve(text));
      }).on('error', reject);
    });
    return { opened, ended };
  }

  function followBySubscription(jobId: string, key: string): { opened: Promise<void>; ended: Promise<string> } {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const client = createClient({
      url: `ws://127.0.0.1:${test.plane.httpPort}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${key}` },
      retryAttempts: 0,
    });
    const ended = (async () => {
      let text = '';
      for await (const event of client.iterate({
        query: `subscription { jobProgress(jobId: "${jobId}") { state } }`,
      })) {
        text += JSON.stringify(event);
        open();
      }
      await client.dispose();
      return text;
    })();
    return { opened, ended };
  }

  const ends = [
    ['revoked here', (id: string) => test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200)],
    [
      'revoked at another replica, which says nothing',
      (id: string) => test.plane.database.dataSource.manager.update(ApiKey, { id }, { revokedAt: new Date() }),
    ],
    ['expired', () => Promise.resolve(test.clock.pass(61))],
  ] as const;

  it.each(ends)('W-M2 ends its streams within a second: %s', async (_name, end) => {
    const { jobId } = await submitFunded(test);
    const expiresAt = new Date(test.clock.now().getTime() + 60_000).toISOString();
    const { id, key } = await keyOf({ expiresAt });
    const streams = [followByEvents(jobId, key), followBySubscription(jobId, key)];
    await Promise.all(streams.map(({ opened }) => opened));
    const began = performance.now();
    await end(id);
    const told = await Promise.all(streams.map(({ ended }) => ended));
    // A second, and what a busy machine takes.
    expect(performance.now() - began).toBeLessThan(3000);
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    expect(told.join()).not.toContain('cancelled');
    expect(test.plane.app.get(Streams).keyIds).not.toContain(id);
    await server().get('/v1/jobs').set('authorization', `Bearer ${key}`).expect(401);
  });

  it('W-M2 gets none of the work that it waits for', async () => {
    const wanted = { tenant: 'host', role: 'operator', provider: providers.operator };
    const { id, key: auth } = await keyOf(wanted);
    const { nodeId } = await test.send<{ nodeId: string }>(pattern.nodeRegister, {
      ...{ auth, name: 'revoked', provider: providers.operator, capabilities },
    });
    const question = { auth, nodeId, waitMs: 10_000 };
    const began = performance.now();
    const waits = Promise.all([
      test.send(pattern.leaseAcquire, question),
      test.send<{ task: unknown }>(pattern.proofAcquire, question),
      test.send<{ task: unknown }>(pattern.segmentAcquire, question),
    ]);
    await expect.poll(() => test.plane.app.get(Streams).keyIds).toContain(id);
    await test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200);
    const [lease, proof, segment] = await waits;
    expect(performance.now() - began).toBeLessThan(8000);
    expect([lease ?? null, proof.task, segment.task]).toEqual([null, null, null]);
    const { jobId } = await submitFunded(test);
    expect((await test.as('client').get(`/v1/jobs/${jobId}`).expect(200)).body.state).toBe('submitted');
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    expect(test.plane.app.get(Streams).keyIds).not.toContain(id);
  });

  it('W-M2 leaves the streams of other keys alone, and asks nothing while there are none', async () => {
    const { jobId } = await submitFunded(test);
    const [bad, good] = [await keyOf(), await keyOf()];
    const other = followByEvents(jobId, good.key);
    const own = followByEvents(jobId, bad.key);
    await Promise.all([other.opened, own.opened]);
    await test.as('admin').post(`/v1/keys/${bad.id}/revoke`, {}).expect(200);
    await own.ended;
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    expect(await other.ended).toContain('cancelled');
    const asked = vi.spyOn(test.plane.app.get(ApiKeys), 'ended');
    await test.plane.app.get(KeyWatch).look();
    expect(asked).not.toHaveBeenCalled();
  });
});

it('W-M5 the introspection that tools send is answered over HTTP', async () => {
  const { body } = await test.as('client').post('/graphql', { query: getIntrospectionQuery() }).expect(200);
  expect(body.errors).toBeUndefined();
  expect(body.data.__schema.types.length).toBeGreaterThan(10);
});

describe('refusals', () => {
  let watched: TestPlane;
  beforeAll(async () => {
    watched = await startTestPlane();
  });
  afterAll(async () => watched.stop());

  const noted = (kind: string) =>
    watched.plane.database.dataSource.query<{ actor: string; code: string; subject: string }[]>(
      'SELECT actor, code, subject FROM audit_log WHERE action = $1 ORDER BY id',
      [`${kind}.refused`],
    );

  it('W-M9 of keys and roles are logged and audited, by name where there is one, and never with the key', async () => {
    const bad = 'vt_nobody_a-secret-that-a-test-made-up';
    await request(watched.plane.app.getHttpServer()).get('/v1/jobs').set('authorization', `Bearer ${bad}`).expect(401);
    await request(watched.plane.app.getHttpServer()).post('/graphql').send({ query: '{ __typename }' }).expect(401);
    await watched.as('operator').get('/v1/audit').expect(403);
    await expect.poll(async () => (await noted('authentication')).map(({ code }) => code)).toContain('AUTH_MISSING');
    await expect.poll(async () => (await noted('authorisation')).length).toBeGreaterThan(0);
    const unknown = (await noted('authentication')).find(({ subject }) => subject.startsWith('GET /v1/jobs from'));
    expect(unknown).toMatchObject({ actor: 'nobody', code: 'AUTH_UNKNOWN' });
    const forbidden = (await noted('authorisation')).find(({ subject }) => subject.startsWith('GET /v1/audit from'));
    expect(forbidden).toMatchObject({ actor: 'operator', code: 'ROLE_FORBIDDEN' });
    const lines = watched.logs.filter((line) => line.includes('authentication refused'));
    expect(lines.length).toBeGreaterThan(0);
    expect(watched.logs.join()).not.toContain('a-secret-that-a-test-made-up');
  });

  it('W-M9 fill neither log nor table', async () => {
    const before = (await noted('authentication')).length;
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, () => request(watched.plane.app.getHttpServer()).get('/v1/jobs').expect(401)),
      );
    }
    const rows = (await noted('authentication')).length - before;
    expect(rows).toBeLessThanOrEqual(40);
    const denied = (await noted('authorisation')).length;
    await watched.as('reviewer').get('/v1/audit').expect(403);
    await expect.poll(async () => (await noted('authorisation')).length).toBe(denied + 1);
  });
});
