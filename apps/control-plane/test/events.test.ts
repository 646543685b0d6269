/** Messages leave after their transaction, at least once, whatever happens in between. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { IsNull } from 'typeorm';
import { OutboxMessage } from '#libs/persistence';
import { createLogger } from '#libs/telemetry';
import { OutboxRelay } from '../src/core/events/outbox-relay.js';
import { Periodic } from '../src/core/timing/periodic.js';
import { Signals } from '../src/core/timing/signals.js';
import { startTestPlane } from './harness.js';

it('the outbox is emptied after a restart, in order, and wakes who waits', async () => {
  const test = await startTestPlane();
  const row = (subject: string) => ({ topic: 't', subject, payload: {}, createdAt: new Date(0), publishedAt: null });
  const { manager } = test.plane.database.dataSource;
  await test.plane.app.get(OutboxRelay).onApplicationShutdown();
  await manager.insert(
    OutboxMessage,
    Array.from({ length: 450 }, (_, n) => row(`job ${n}`)),
  );
  expect(await manager.countBy(OutboxMessage, { subject: 'job 0', publishedAt: IsNull() })).toBe(1);
  await test.restart();
  const heard: string[] = [];
  const signals = test.plane.app.get(Signals);
  const waits = [451, 452].map((n) => signals.wait(`job:job ${n}`, 10_000).then(() => heard.push(`job ${n}`)));
  await test.plane.database.dataSource.manager.insert(OutboxMessage, [row('job 451'), row('job 452')]);
  await test.plane.app.get(OutboxRelay).publish();
  await Promise.all(waits);
  expect(heard).toEqual(['job 451', 'job 452']);
  const [{ left }] = await test.plane.database.dataSource.query(
    'SELECT count(*) AS left FROM outbox WHERE published_at IS NULL',
  );
  expect(left).toBe('0');
  await test.stop();
});

it('periodic work never overlaps, survives failures, and stops when told', async () => {
  let running = 0;
  let most = 0;
  let turns = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    turns += 1;
    await sleep(5);
    running -= 1;
    if (turns === 2) throw new Error('once');
  };
  const periodic = new Periodic('test', 1, work, createLogger('test', 'silent'));
  periodic.start();
  for (let n = 0; n < 20; n += 1) {
    periodic.kick();
    await sleep(3);
  }
  await periodic.stop();
  const then = turns;
  await sleep(20);
  expect([most, turns]).toEqual([1, then]);
  expect(turns).toBeGreaterThan(3);
});

it('a wait ends by signal, by time, or by abort', async () => {
  const signals = new Signals();
  const started = performance.now();
  const waiting = signals.wait('a', 10_000);
  signals.raise('b');
  signals.raise('a');
  await waiting;
  await signals.wait('a', 5);
  const abort = new AbortController();
  const aborted = signals.wait('a', 10_000, abort.signal);
  abort.abort();
  await aborted;
  await signals.wait('a', 10_000, abort.signal);
  expect(performance.now() - started).toBeLessThan(5000);
});
