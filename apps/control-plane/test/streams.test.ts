/** Live progress: server-sent events that resume, GraphQL queries and the jobProgress subscription. */
import { get } from 'node:http';
import { createRequire } from 'node:module';
import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JobEvent } from '#libs/persistence';
import { pattern, type LeaseGrant } from '#libs/wire';
import { EventTail } from '../src/core/events/event-tail.js';
import { Streams } from '../src/core/overload/streams.js';
import { jobTopic, Signals } from '../src/core/timing/signals.js';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import { acquire, advanceTo, refOf, register, submitFunded, type Fixture } from './job-fixture.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: unknown };
let test: TestPlane;
let nodeId: string;
let job: Fixture;
let grant: LeaseGrant;
beforeAll(async () => {
  test = await startTestPlane();
  nodeId = await register(test);
});
afterAll(async () => test.stop());
beforeEach(async () => {
  job = await submitFunded(test);
  grant = await acquire(test, nodeId);
  await advanceTo(test, grant, 'running');
});

/** More than 32 bits hold. */
const edges = [
  { edge: 'n0', values: 2 ** 40, saturatedValues: 3, errors: 2 ** 40, saturatedErrors: 2, zeroErrors: 2 ** 39 },
];
const progress = (step: number) =>
  test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, loss: 1 / (step + 1), edges });
const cancel = () => test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);

interface Event {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly to?: string; readonly step?: number };
}

/** Reads until `enough`, or until the stream ends. */
function listen(enough: (events: readonly Event[]) => boolean, lastEventId?: string): Promise<Event[]> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${keys.client}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
    const url = `http://127.0.0.1:${test.plane.httpPort}/v1/jobs/${job.jobId}/events`;
    const request = get(url, { headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const events = parse(text);
        if (!enough(events)) return;
        request.destroy();
        resolve(events);
      });
      response.on('end', () => resolve(parse(text)));
    });
    request.on('error', reject);
  });
}

function parse(text: string): Event[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) =>
      Object.fromEntries(
        block
          .trim()
          .split('\n')
          .map((line) => line.split(/: (.*)/s).slice(0, 2)),
      ),
    )
    .filter((fields) => fields['data'] !== undefined)
    .map(({ id, event, data }) => ({ id, type: event, data: JSON.parse(data) as Event['data'] }));
}

describe('server-sent events', () => {
  it('tell the whole story, live, and end with the job', async () => {
    const story = listen(() => false);
    await progress(1);
    await progress(2);
    await cancel();
    const events = await story;
    const told = events.map(({ type, data }) => (type === 'state' ? data.to : type === 'progress' ? data.step : type));
    expect(told).toEqual(['submitted', 'escrow', 'assigned', 'attested', 'keyed', 'running', 1, 2, 'cancelled']);
  });

  it('go on after the last event that was seen, across a restart', async () => {
    await progress(1);
    const before = await listen((events) => events.some((event) => event.data.step === 1));
    await test.restart();
    await progress(2);
    await cancel();
    const after = await listen(() => false, before.at(-1)!.id);
    expect(after.map(({ type, data }) => data.to ?? data.step ?? type)).toEqual([2, 'cancelled']);
  });

  it('refuse an id that is none', async () => {
    const path = `/v1/jobs/${job.jobId}/events`;
    const { body } = await test.as('client').get(path).set('last-event-id', '-1').expect(400);
    expect(body.code).toBe('REQUEST_MALFORMED');
    await cancel();
  });
});

describe('GraphQL', () => {
  const ask = (query: string, who: 'client' | 'otherClient' | null = 'client', variables = {}) =>
    test.as(who).post('/graphql', { query, variables });

  it('answers the same jobs as REST, to the same people', async () => {
    const query = `query ($id: ID!) { job(id: $id) { id state attempt } }`;
    const { body } = await ask(query, 'client', { id: job.jobId }).expect(200);
    expect(body.data.job).toEqual({ id: job.jobId, state: 'running', attempt: 1 });
    const foreign = await ask(query, 'otherClient', { id: job.jobId });
    expect(foreign.body.errors[0].extensions).toMatchObject({ code: 'JOB_UNKNOWN', status: 404 });
    const nobody = await ask(query, null, { id: job.jobId });
    expect(nobody.body.errors[0].extensions).toMatchObject({ code: 'AUTH_MISSING', status: 401 });
    const wrong = await ask(query, 'client', { id: 'x' });
    expect(wrong.body.errors[0].extensions).toMatchObject({ code: 'REQUEST_MALFORMED' });
    const page = await ask('{ jobPage(limit: 1, state: "running") { items { id } nextCursor } }').expect(200);
    expect(page.body.data.jobPage.items).toEqual([{ id: job.jobId }]);
    await cancel();
  });

  it('refuses queries that are too deep or too wide', async () => {
    const deep = `{ __schema ${'{ types { fields { type '.repeat(4)} { name } ${'} } }'.repeat(4)} }`;
    expect((await ask(deep)).body.errors[0].extensions.reason).toBe('QUERY_TOO_COMPLEX');
    const wide = `{ ${Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ')} }`;
    expect((await ask(wide)).body.errors[0].extensions.reason).toBe('QUERY_TOO_COMPLEX');
    const doubling = Array.from({ length: 30 }, (_, n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`);
    const many = `{ ...f0 } ${doubling.join(' ')} fragment f30 on Query { __typename }`;
    expect((await ask(many)).body.errors[0].extensions.reason).toBe('QUERY_TOO_COMPLEX');
    const long = `{ ${'__typename '.repeat(4000)} }`;
    expect((await ask(long)).body.errors[0].message).toMatch(/4000 tokens/);
    const spread = `query { jobPage { items { ...f } } } fragment f on Job { progress { step } }`;
    expect((await ask(spread)).body.errors).toBeUndefined();
    await cancel();
  });

  it('streams progress from any event on', async () => {
    const client = createClient({
      url: `ws://127.0.0.1:${test.plane.httpPort}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${keys.client}` },
      retryAttempts: 0,
    });
    const query = `subscription { jobProgress(jobId: "${job.jobId}") { eventId type state code progress { step loss edges { edge values saturatedValues errors saturatedErrors zeroErrors } } } }`;
    const seen: Record<string, unknown>[] = [];
    const done = (async () => {
      for await (const { data, errors } of client.iterate({ query })) {
        expect(errors).toBeUndefined();
        seen.push(data!['jobProgress'] as Record<string, unknown>);
      }
    })();
    await progress(1);
    await cancel();
    await done;
    expect(seen.at(-1)).toMatchObject({ type: 'state', state: 'cancelled', code: 'CANCELLED_BY_CLIENT' });
    expect(seen.filter((event) => event['type'] === 'progress')).toMatchObject([
      { progress: { step: 1, loss: 0.5, edges } },
    ]);
    await client.dispose();
  });

  it('refuses a subscription without a key, or for a foreign job', async () => {
    for (const [key, code] of [
      [undefined, 'AUTH_MISSING'],
      [keys.otherClient, 'JOB_UNKNOWN'],
    ] as const) {
      const client = createClient({
        url: `ws://127.0.0.1:${test.plane.httpPort}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: key === undefined ? {} : { authorization: `Bearer ${key}` },
        retryAttempts: 0,
      });
      const query = `subscription { jobProgress(jobId: "${job.jobId}") { eventId } }`;
      const outcome: unknown = await (async () => {
        for await (const { errors } of client.iterate({ query })) return errors;
        return 'nothing';
      })().catch((error: unknown) => error);
      expect(JSON.stringify(outcome)).toContain(code);
      await client.dispose();
    }
    await cancel();
  });
});

it('an event that another replica wrote is heard of without a signal', async () => {
  const { app, database } = test.plane;
  const leave = app.get(Streams).enter('test');
  // Of no job that anything here speaks of.
  const jobId = `0x${'ab'.repeat(32)}`;
  const heard = app
    .get(Signals)
    .wait(jobTopic(jobId), 100_000)
    .then(() => 'heard');
  // Written behind the back of this process, after its first look.
  await app.get(EventTail).look();
  await database.dataSource.manager.insert(JobEvent, { jobId, type: 'progress', data: {}, at: new Date(0) });
  expect(await heard).toBe('heard');
  leave();
});
