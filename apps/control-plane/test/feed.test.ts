/** The events of all jobs of a tenant on one stream: complete, of nobody else, resumed, and ended with key or session. */
import { get, type ClientRequest } from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import request from 'supertest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pattern } from '#libs/wire';
import { EventTail } from '../src/core/events/event-tail.js';
import { Streams } from '../src/core/overload/streams.js';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import { acquire, advanceTo, refOf, register, submitFunded } from './job-fixture.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: unknown };
let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());

interface Seen {
  readonly mark: string;
  readonly data: {
    readonly eventId: string;
    readonly jobId: string;
    readonly type: string;
    readonly state: string | null;
  };
}

interface Following {
  readonly seen: Seen[];
  readonly opened: Promise<number>;
  readonly ended: Promise<void>;
  /** Until what was seen is enough. */
  until(enough: (seen: readonly Seen[]) => boolean): Promise<void>;
  close(): void;
}

function follow(headers: Readonly<Record<string, string>>): Following {
  const seen: Seen[] = [];
  const waiting = new Set<() => void>();
  let asked: ClientRequest;
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const opened = new Promise<number>((resolve, reject) => {
    asked = get(`http://127.0.0.1:${test.plane.httpPort}/v1/events`, { headers }, (response) => {
      resolve(response.statusCode ?? 0);
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const blocks = (text + chunk).split('\n\n');
        text = blocks.pop()!;
        for (const block of blocks) {
          const [, mark] = /^id: (.*)$/m.exec(block) ?? [];
          const [, data] = /^data: (.*)$/m.exec(block) ?? [];
          if (mark !== undefined && data !== undefined) seen.push({ mark, data: JSON.parse(data) as Seen['data'] });
        }
        for (const look of waiting) look();
      });
      response.on('close', end);
    }).on('error', reject);
  });
  opened.catch(() => undefined);
  const until = (enough: (seen: readonly Seen[]) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (enough(seen)) resolve();
      };
      waiting.add(look);
      look();
    });
  return { seen, opened, ended, until, close: () => asked.destroy() };
}

const as = (key: string) => ({ authorization: `Bearer ${key}` });
const has = (jobId: string, state: string) => (seen: readonly Seen[]) =>
  seen.some(({ data }) => data.jobId === jobId && data.state === state);
const following = (): number => test.plane.app.get(Streams).count;

it('has every change of every job of the tenant, and nothing of another’s', async () => {
  const [own, reviewer, all, other] = (['client', 'reviewer', 'admin', 'otherClient'] as const).map((who) =>
    follow(as(keys[who])),
  );
  for (const one of [own!, reviewer!, all!, other!]) expect(await one.opened).toBe(200);
  const nodeId = await register(test);
  const jobs = [await submitFunded(test), await submitFunded(test)];
  const grant = await acquire(test, nodeId);
  await advanceTo(test, grant, 'running');
  for (const step of [1, 2, 3]) await test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, loss: 1 });
  const waiting = jobs.find(({ jobId }) => jobId !== grant.job.jobId)!;
  await test.as('client').post(`/v1/jobs/${waiting.jobId}/cancel`, {}).expect(200);
  for (const one of [own!, reviewer!, all!]) {
    await one.until(has(waiting.jobId, 'cancelled'));
    const states = one.seen.filter(({ data }) => data.jobId === grant.job.jobId && data.type === 'state');
    const inOrder = ['submitted', 'assigned', 'attested', 'keyed', 'running'];
    expect(states.map(({ data }) => data.state).slice(-5)).toEqual(inOrder);
    expect(one.seen.some(({ data }) => data.type === 'progress')).toBe(true);
    expect(new Set(one.seen.map(({ data }) => data.eventId)).size).toBe(one.seen.length);
  }
  expect(other!.seen).toEqual([]);
  expect(await follow(as(keys.operator)).opened).toBe(403);
  expect(await follow({}).opened).toBe(401);
  expect(await follow({ ...as(keys.client), 'last-event-id': "1' OR 1=1" }).opened).toBe(400);
  for (const one of [own!, reviewer!, all!, other!]) one.close();
});

it('goes on where it broke, without a gap', async () => {
  const first = follow(as(keys.client));
  await first.opened;
  const one = await submitFunded(test);
  await first.until(has(one.jobId, 'submitted'));
  first.close();
  await first.ended;
  const meanwhile = await submitFunded(test);
  await test.as('client').post(`/v1/jobs/${one.jobId}/cancel`, {}).expect(200);
  const again = follow({ ...as(keys.client), 'last-event-id': first.seen.at(-1)!.mark });
  await again.until(has(one.jobId, 'cancelled'));
  await again.until(has(meanwhile.jobId, 'submitted'));
  const late = await submitFunded(test);
  await again.until(has(late.jobId, 'submitted'));
  again.close();
});

it('tells of what another replica wrote, which this one hears of from the database alone', async () => {
  const stream = follow(as(keys.client));
  await stream.opened;
  const job = await submitFunded(test);
  await stream.until(has(job.jobId, 'submitted'));
  const { dataSource } = test.plane.database;
  const data = { from: 'submitted', to: 'paused', code: null };
  await dataSource.query('INSERT INTO job_event (job_id, type, data, at) VALUES ($1, $2, $3, $4)', [
    ...[job.jobId, 'state', JSON.stringify(data), test.clock.now()],
  ]);
  await stream.until(has(job.jobId, 'paused'));
  stream.close();
});

it('is told to many by one look', async () => {
  const streams = Array.from({ length: 20 }, () => follow(as(keys.client)));
  await Promise.all(streams.map(({ opened }) => opened));
  const { dataSource } = test.plane.database;
  const job = await submitFunded(test);
  await Promise.all(streams.map((one) => one.until(has(job.jobId, 'submitted'))));
  let asked = 0;
  const query = dataSource.query.bind(dataSource) as (...given: unknown[]) => Promise<unknown>;
  dataSource.query = ((...given: unknown[]) => {
    asked += String(given[0]).includes('JOIN job j') ? 1 : 0;
    return query(...given);
  }) as typeof dataSource.query;
  await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
  await test.plane.app.get(EventTail).look();
  await Promise.all(streams.map((one) => one.until(has(job.jobId, 'cancelled'))));
  dataSource.query = query as typeof dataSource.query;
  expect(asked).toBeLessThan(streams.length / 2);
  for (const one of streams) one.close();
});

it('ends within five seconds with the key, and with the session of the console', async () => {
  const host = 'console.test';
  const own = { host, origin: `https://${host}`, 'x-veritrain-console': '1' };
  const made = (await test.as('admin').post('/v1/keys', { tenant: 'acme', role: 'client' }).expect(201)).body as {
    id: string;
    key: string;
  };
  const server = () => request(test.plane.app.getHttpServer());
  const session = async (): Promise<string> => {
    const { headers } = await server().post('/console/session').set(own).send({ key: made.key }).expect(204);
    return headers['set-cookie']![0]!.split(';')[0]!;
  };
  const [left, kept] = [await session(), await session()];
  const before = following();
  const streams = [follow({ cookie: left }), follow({ cookie: kept }), follow(as(made.key))];
  await Promise.all(streams.map(({ opened }) => opened));
  expect(following()).toBe(before + 3);
  const ended = async (act: () => Promise<unknown>, which: readonly Following[]): Promise<number> => {
    const at = performance.now();
    await act();
    await Promise.all(which.map((one) => one.ended));
    return performance.now() - at;
  };
  const out = () =>
    server()
      .delete('/console/session')
      .set({ ...own, cookie: left })
      .expect(204);
  expect(await ended(out, [streams[0]!])).toBeLessThan(5000);
  expect(following()).toBe(before + 2);
  const revoke = () => test.as('admin').post(`/v1/keys/${made.id}/revoke`, {}).expect(200);
  expect(await ended(revoke, streams.slice(1))).toBeLessThan(5000);
  expect(following()).toBe(before);
});

it('is a subscription too', async () => {
  const client = createClient({
    url: `ws://127.0.0.1:${test.plane.httpPort}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${keys.client}` },
  });
  const events = client.iterate<{ jobEvents: { jobId: string; state: string | null } }>({
    query: 'subscription { jobEvents { jobId type state } }',
  });
  const first = events.next();
  while (following() === 0) await setTimeout(20);
  const job = await submitFunded(test);
  expect((await first).value?.data?.jobEvents).toMatchObject({ jobId: job.jobId, state: 'submitted' });
  await events.return?.();
  await client.dispose();
});
