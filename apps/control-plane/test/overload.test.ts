/** Slow, greedy and broken clients against a process that listens: each is told or cut, and everybody else is served. */
import { connect, type Socket } from 'node:net';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobEvent } from '#libs/persistence';
import { pattern } from '#libs/wire';
import { followedStep, startFollowers, type Followers } from './followers.js';
import { keys, startTestPlane, type TestPlane } from './harness.js';
import { acquire, advanceTo, refOf, register, submitFunded } from './job-fixture.js';

/** Subscriptions of the short run; `VERITRAIN_LONG=1` opens ten thousand. */
const isLong = process.env['VERITRAIN_LONG'] === '1';
const subscriptions = isLong ? 10_000 : 400;
const patience = isLong ? 1_200_000 : 110_000;

const refused = async (test: TestPlane, reason: string): Promise<number> => {
  const { text } = await test.as(null).get('/metrics').expect(200);
  return Number(new RegExp(`veritrain_refused_total\\{reason="${reason}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
};

/** What comes back until the connection ends. */
function talk(port: number, send: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => send(socket));
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}

function problemIn(answer: string): { status: number; code: string } {
  const [head, body] = answer.split('\r\n\r\n');
  expect(head).toContain('content-type: application/problem+json');
  const { code, action } = JSON.parse(body!) as { code: string; action: string };
  expect(action).not.toBe('');
  return { status: Number(head!.split(' ')[1]), code };
}

describe('slow and broken clients', () => {
  let test: TestPlane;
  beforeAll(async () => {
    // The same guard with less patience.
    const connections = { headersMilliseconds: 400, requestMilliseconds: 800, stalledMilliseconds: 600 };
    test = await startTestPlane({}, { connections });
  });
  afterAll(async () => test.stop());

  it('that do not finish their headers are told so and cut', async () => {
    const before = await refused(test, 'slow request');
    const answer = await talk(test.plane.httpPort, (socket) => socket.write('GET /v1/jobs HTTP/1.1\r\nhost: x\r\nx-'));
    expect(problemIn(answer)).toEqual({ status: 408, code: 'REQUEST_TIMEOUT' });
    expect(await refused(test, 'slow request')).toBe(before + 1);
  });

  it('that do not finish their body are cut', async () => {
    const head = `POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keys.client}\r\nidempotency-key: slow\r\n`;
    const rest = 'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"spec":';
    const answer = await talk(test.plane.httpPort, (socket) => socket.write(head + rest));
    expect(problemIn(answer)).toEqual({ status: 408, code: 'REQUEST_TIMEOUT' });
  });

  it('that send endless headers, or no HTTP at all, are told so', async () => {
    const long = await talk(test.plane.httpPort, (socket) =>
      socket.write(`GET /v1/jobs HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`),
    );
    expect(problemIn(long)).toEqual({ status: 431, code: 'HEADERS_OVERSIZE' });
    const junk = await talk(test.plane.httpPort, (socket) => socket.write('\u0000\u0001 rubbish\r\n\r\n'));
    expect(problemIn(junk)).toEqual({ status: 400, code: 'REQUEST_MALFORMED' });
  });

  it('that ask for a stream and do not read are cut, and cost no more than their buffers', async () => {
    const job = await submitFunded(test);
    const { manager } = test.plane.database.dataSource;
    const data = { note: 'x'.repeat(20_000) };
    const rows = Array.from({ length: 1000 }, () => ({ jobId: job.jobId, type: 'progress', data, at: new Date(0) }));
    for (let from = 0; from < rows.length; from += 100) await manager.insert(JobEvent, rows.slice(from, from + 100));
    const before = await refused(test, 'slow reader');
    const socket = connect(test.plane.httpPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(
      `GET /v1/jobs/${job.jobId}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keys.client}\r\n\r\n`,
    );
    await expect.poll(() => refused(test, 'slow reader')).toBe(before + 1);
    const { text } = await test.as(null).get('/metrics');
    expect(text).toContain('veritrain_streams 0');
    socket.destroy();
  });

  it('leave the others alone', async () => {
    const slow = Array.from({ length: 50 }, () =>
      talk(test.plane.httpPort, (socket) => socket.write('POST /v1/jobs HTTP/1.1\r\n')),
    );
    await test.as('client').get('/v1/jobs').expect(200);
    await Promise.all(slow);
    await test.as(null).get('/health/ready').expect(200);
  });
});

describe('subscriptions', () => {
  let test: TestPlane;
  let followers: Followers | null = null;
  beforeAll(async () => {
    test = await startTestPlane({ streamsPerKeyMax: subscriptions });
  });
  afterAll(async () => {
    followers?.leave();
    await test.stop();
  });

  it(
    `${subscriptions} at once all hear, one more is refused, others are answered, and memory stays bounded`,
    async () => {
      const job = await submitFunded(test);
      const nodeId = await register(test);
      const grant = await acquire(test, nodeId);
      await advanceTo(test, grant, 'running');
      const before = process.memoryUsage.rss();
      followers = startFollowers(test.plane.httpPort, keys.client, job.jobId, subscriptions);
      expect(await followers.opened).toBe(subscriptions);
      const extra = startFollowers(test.plane.httpPort, keys.client, job.jobId, 1, 99);
      await expect(extra.opened).rejects.toThrow('STREAMS_MAX');
      extra.leave();
      const stream = await test.as('client').get(`/v1/jobs/${job.jobId}/events`).expect(429);
      expect(stream.body.code).toBe('STREAMS_MAX');
      await test.send(pattern.leaseProgress, { ...refOf(grant), step: followedStep, of: 6 });
      await test.as('client').get('/v1/jobs').expect(200);
      expect(await followers.heard).toBe(subscriptions);
      expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 2 ** 20 + subscriptions * 30 * 1024);
      followers.leave();
      await expect
        .poll(async () => (await test.as(null).get('/metrics')).text.includes('veritrain_streams 0'), {
          timeout: 30_000,
        })
        .toBe(true);
    },
    patience,
  );

  it('of a client that leaves before it is answered are given back', async () => {
    const { jobId } = await submitFunded(test);
    for (const path of ['/v1/events', `/v1/jobs/${jobId}/events`]) {
      for (let afterMs = 0; afterMs < 12; afterMs += 1) {
        await talk(test.plane.httpPort, (socket) => {
          socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keys.client}\r\n\r\n`);
          setTimeout(() => socket.resetAndDestroy(), afterMs);
        });
      }
    }
    const held = async (): Promise<string> => (await test.as(null).get('/metrics')).text;
    await expect.poll(held).toContain('veritrain_streams 0');
  }, 30_000);
});

describe('a process that is behind', () => {
  let test: TestPlane;
  beforeAll(async () => {
    test = await startTestPlane({ shedDelayMilliseconds: 90 });
  });
  afterAll(async () => test.stop());

  const shedding = async (): Promise<string> => (await test.as(null).get('/health/ready').expect(200)).body.shedding;

  it('sheds reads before jobs and jobs before nothing else, says so, and takes everything again', async () => {
    const nodeId = await register(test);
    const job = await submitFunded(test);
    let isBusy = true;
    const burn = (): void => {
      const until = performance.now() + 500;
      while (performance.now() < until);
      if (isBusy) setTimeout(burn, 20);
    };
    burn();
    await expect.poll(shedding).toBe('submissions');
    const list = await test.as('client').get('/v1/jobs').expect(503);
    expect(list.type).toBe('application/problem+json');
    expect(list.body.code).toBe('OVERLOADED');
    expect(Number(list.headers['retry-after'])).toBeGreaterThan(0);
    expect((await test.as('client').post('/v1/jobs', {}).expect(503)).body.code).toBe('OVERLOADED');
    const query = { query: '{ jobPage { nextCursor } }' };
    const graph = await request(test.plane.app.getHttpServer())
      .post('/graphql')
      .set('authorization', `Bearer ${keys.client}`)
      .send(query);
    expect(graph.body.errors[0].extensions.code).toBe('OVERLOADED');
    expect(await test.send(pattern.nodeHeartbeat, { nodeId, leases: [] })).toEqual({ cancel: [], lost: [] });
    expect((await acquire(test, nodeId)).job.jobId).toBe(job.jobId);
    await test.as('client').post(`/v1/jobs/${job.jobId}/cancel`, {}).expect(200);
    isBusy = false;
    await expect.poll(shedding).toBe('none');
    await test.as('client').get('/v1/jobs').expect(200);
  });
});

describe('messages that cannot be taken', () => {
  let test: TestPlane;
  beforeAll(async () => {
    test = await startTestPlane();
  });
  afterAll(async () => test.stop());

  const letters = async () => (await test.as('admin').get('/v1/dead-letters').expect(200)).body.items;

  it('are put aside with the reason and without the key, and are replayed when the cause is gone', async () => {
    const nodeId = await register(test);
    const { manager } = test.plane.database.dataSource;
    await manager.query('ALTER TABLE lease RENAME TO lease_away');
    const beat = test.send(pattern.nodeHeartbeat, { nodeId, leases: [] });
    await expect(beat).rejects.toMatchObject({ code: 'INTERNAL' });
    await manager.query('ALTER TABLE lease_away RENAME TO lease');
    await expect.poll(async () => (await letters()).length).toBe(1);
    const [letter] = await letters();
    expect(letter).toMatchObject({ source: 'tcp', pattern: pattern.nodeHeartbeat, code: 'INTERNAL', replayable: true });
    const [{ payload }] = await manager.query('SELECT payload FROM dead_letter');
    expect(String(payload)).not.toContain(keys.operator);
    const { body } = await test.as('admin').post(`/v1/dead-letters/${letter.id}/replay`, {}).expect(200);
    expect(body.replayCode).toBe('ok');
    const [again] = await letters();
    expect(again.replayedAt).not.toBeNull();
    const audited = await manager.query(`SELECT actor FROM audit_log WHERE action = 'dead-letter.replay'`);
    expect(audited).toHaveLength(1);
  });

  it('say what is wrong with them, and a replay that fails again says why', async () => {
    await expect(test.send(pattern.leaseAcquire, { nodeId: 7 })).rejects.toMatchObject({ code: 'REQUEST_MALFORMED' });
    await talk(test.plane.dispatchPort, (socket) => socket.end('7#rubbish'));
    await expect.poll(async () => (await letters()).length).toBeGreaterThanOrEqual(3);
    const all = (await letters()) as { id: string; code: string; pattern: string; replayable: boolean }[];
    const malformed = all.find(({ code }) => code === 'REQUEST_MALFORMED')!;
    expect(malformed.pattern).toBe(pattern.leaseAcquire);
    const { body } = await test.as('admin').post(`/v1/dead-letters/${malformed.id}/replay`, {}).expect(200);
    expect(body.replayCode).toBe('REQUEST_MALFORMED');
    const frame = all.find(({ code }) => code === 'FRAME_MALFORMED')!;
    expect(frame.replayable).toBe(false);
    const lost = await test.as('admin').post(`/v1/dead-letters/${frame.id}/replay`, {}).expect(409);
    expect(lost.body.code).toBe('DEAD_LETTER_LOST');
  });

  it.each([
    ['ended', 'expires_at', 'ended at'],
    ['was revoked', 'revoked_at', 'revoked at'],
  ])('are not handled again for a key that %s meanwhile', async (_, column, words) => {
    await expect(test.send(pattern.leaseAcquire, { nodeId: 8 })).rejects.toMatchObject({ code: 'REQUEST_MALFORMED' });
    await expect.poll(async () => (await letters())[0]?.replayCode).toBeNull();
    const [{ id, actor }] = await letters();
    const { manager } = test.plane.database.dataSource;
    await manager.query(`UPDATE api_key SET ${column} = '2001-01-01' WHERE id = $1`, [actor]);
    const { body } = await test.as('admin').post(`/v1/dead-letters/${id}/replay`, {}).expect(409);
    expect(body).toMatchObject({
      code: 'DEAD_LETTER_LOST',
      got: expect.stringContaining(`${actor}, ${words} 2001-01-01`),
    });
    expect((await letters())[0]).toMatchObject({ id, replayedAt: null, replayCode: null });
    await manager.query(`UPDATE api_key SET ${column} = NULL WHERE id = $1`, [actor]);
    await test.as('admin').post(`/v1/dead-letters/${id}/replay`, {}).expect(200);
  });

  it('are kept within bounds, however many come', async () => {
    const before = (await letters()).length;
    const sent = Array.from({ length: 150 }, () =>
      test.send(pattern.leaseAcquire, { nodeId: 7 }).catch(() => undefined),
    );
    await Promise.all(sent);
    expect((await letters()).length - before).toBeLessThanOrEqual(60);
    await test.as(null).get('/health/ready').expect(200);
  });
});
