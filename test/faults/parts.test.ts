/** The tools of the fault runs do what they say: a plan follows from its seed, a proxy loses what it should, a scan finds. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { domainSeparator } from '#attestation/records';
import type { EscrowEvent } from '#libs/settlement';
import { chainId, contract, tinyJob } from '#test/tiny-job';
import { grantTo, present } from '#test/tiny-release';
import { checkAnnounced, checkHistory, checkNothingLost, checkSegments } from './checks.js';
import { natsPieces } from './frames.js';
import { strangeGrant } from './grants.js';
import { Link } from './link.js';
import { moneyOf } from './money.js';
import { heldAt, kinds, planOf, type Fault } from './plan.js';
import { randomOf } from './random.js';
import { checkReason } from './reasons.js';
import { findSecrets } from './secrets.js';

const open: (() => void)[] = [];
afterEach(() => open.splice(0).forEach((close) => close()));

it('a plan follows from its seed, and seeds from 1 to 200 hold every kind of fault', () => {
  const plans = Array.from({ length: 200 }, (_, index) => planOf(index + 1));
  expect(plans).toEqual(Array.from({ length: 200 }, (_, index) => planOf(index + 1)));
  const seen = new Set(plans.flatMap(({ faults }) => faults.map(({ fault }) => fault.kind)));
  expect([...seen].sort()).toEqual([...kinds].sort());
  for (const { faults, steps, segmentSteps } of plans) {
    expect(faults.length).toBeGreaterThan(0);
    expect(steps % segmentSteps).toBe(0);
  }
  const late = plans.filter((plan) => heldAt(plan) !== null && !plan.renews);
  expect(late.length).toBeGreaterThan(20);
  for (const { faults, ...plan } of late) {
    expect(faults[0]!.forMs).toBeGreaterThan(5000);
    expect(heldAt({ ...plan, faults })).toBeLessThan(plan.steps);
  }
  for (const parallel of [1, 2]) {
    for (const renews of [false, true])
      expect(plans.filter((plan) => plan.parallel === parallel && plan.renews === renews).length).toBeGreaterThan(5);
  }
});

it('messages of NATS are found however the stream is cut, and everything else is handed on', () => {
  const stream = Buffer.from(
    'CONNECT {"verbose":false}\r\nPUB a.b 5\r\nhello\r\nPUB a.b _INBOX.x 0\r\n\r\nPING\r\n' +
      'HPUB a 12 17\r\nNATS/1.0\r\n\r\nhello\r\nMSG a.b 1 _INBOX.y 2\r\n\r\n\r\n',
  );
  for (let size = 1; size <= stream.length; size++) {
    const pieces = natsPieces();
    const found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...pieces(stream.subarray(at, at + size)));
    expect(Buffer.concat(found.map(({ bytes }) => bytes)).equals(stream), `cut every ${size} bytes`).toBe(true);
    expect(found.map(({ isMessage }) => isMessage)).toEqual([false, true, true, false, true, true]);
  }
});

async function echo(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(() => server.close());
  return { server, port: (server.address() as { port: number }).port };
}

async function through(link: Link): Promise<{ readonly socket: Socket; readonly heard: () => string }> {
  const socket = connect(link.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  open.push(() => socket.destroy());
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  return { socket, heard: () => text };
}

it('a held line delivers everything in order once it is repaired, and a cut one ends', async () => {
  const link = await Link.open((await echo()).port, false);
  open.push(() => link.close());
  const { socket, heard } = await through(link);
  socket.write('before,');
  await expect.poll(heard).toBe('before,');
  link.hold();
  socket.write('held,');
  const late = await through(link);
  late.socket.write('new');
  link.repair();
  link.delay(30);
  socket.write('slow,');
  link.repair();
  socket.write('after');
  await expect.poll(heard).toBe('before,held,slow,after');
  await expect.poll(late.heard).toBe('new');
  link.cut();
  await once(socket, 'close');
});

it('a lossy line loses and doubles messages and nothing else', async () => {
  const link = await Link.open((await echo()).port, true);
  open.push(() => link.close());
  const { socket, heard } = await through(link);
  link.lose({ drop: 1, duplicate: 0, late: 0 }, randomOf(1));
  socket.write('PING\r\nPUB a 2\r\nhi\r\nPONG\r\n');
  await expect.poll(heard).toBe('PING\r\nPONG\r\n');
  link.repair();
  socket.write('PUB a 2\r\nhi\r\n');
  await expect.poll(heard).toBe('PING\r\nPONG\r\nPUB a 2\r\nhi\r\n');
});

it('a secret is found as it is, in hexadecimal and in base64, at any offset, and not where it belongs', () => {
  const root = mkdtempSync(join(tmpdir(), 'veritrain-scan-'));
  open.push(() => rmSync(root, { recursive: true, force: true }));
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) & 255);
  const secret = { name: 'a test key', bytes, at: ['own', 'key.txt'] };
  const files: Record<string, Buffer> = {
    'own/key': Buffer.from(bytes),
    'key.txt': Buffer.from(bytes),
    clean: Buffer.from(bytes).fill(1, 10, 11),
    raw: Buffer.concat([Buffer.alloc(100), Buffer.from(bytes)]),
    hex: Buffer.from(`0x${Buffer.from(bytes).toString('hex')}`),
  };
  for (const by of [0, 1, 2]) {
    files[`base64-${by}`] = Buffer.from(
      Buffer.concat([Buffer.alloc(by, 7), bytes, Buffer.alloc(3, 9)]).toString('base64'),
    );
  }
  mkdirSync(join(root, 'own'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content);
  const found = findSecrets(root, [secret]).map((line) => line.split(' in ')[1]);
  expect([...new Set(found)].sort()).toEqual(['base64-0', 'base64-1', 'base64-2', 'hex', 'raw']);
});

it('an event that was told and is gone, or is told otherwise, is a violation', () => {
  const told = [
    { type: 'state', data: { to: 'running' } },
    { type: 'checkpoint', data: { step: 100 } },
  ];
  expect(checkNothingLost(told, told)).toEqual([]);
  expect(checkNothingLost(told, told.slice(0, 1))).toHaveLength(1);
  expect(checkNothingLost(told, [told[0]!, { type: 'checkpoint', data: { step: 200 } }])).toHaveLength(1);
});

it('a history with a gap, or with a word from an older lease, is a violation', () => {
  const state = (from: string | null, to: string, fence: number) => ({ type: 'state', data: { from, to, fence } });
  const said = (type: string, fence: number) => ({ type, data: { fence } });
  const right = [state(null, 'submitted', 0), state('submitted', 'assigned', 1), said('checkpoint', 1)];
  const next = [state('assigned', 'submitted', 1), state('submitted', 'assigned', 2)];
  expect(checkHistory([...right, ...next, said('delivery', 2)])).toEqual([]);
  expect(checkHistory([...right, ...next, said('checkpoint', 1)])).toHaveLength(1);
  expect(checkHistory([...right, ...next.slice(1)])).toHaveLength(1);
});

it('a segment that counts twice, not from its newest claim, or not at all, is a violation', () => {
  const said = (nodeId: string, done: boolean) => ({ type: 'segment', data: { index: 0, nodeId, done } });
  const row = (node: string, fence: number) => [{ index: 0, node_id: node, fence, worker_id: 'w' }];
  const right = [said('a', false), said('b', false), said('b', true)];
  expect(checkSegments(right, row('b', 2), 1)).toEqual([]);
  expect(checkSegments([...right, said('b', true)], row('b', 2), 1)).toHaveLength(1);
  expect(checkSegments([...right, said('a', false)], row('a', 3), 1)).toHaveLength(1);
  expect(checkSegments([...right.slice(0, 2), said('a', true)], row('b', 2), 1)).toHaveLength(1);
  expect(checkSegments(right, [], 1)).toHaveLength(1);
  expect(checkSegments(right, row('b', 2), 2)).toHaveLength(1);
});

it('a change of state that the outbox does not have, or has twice, is a violation', () => {
  const events = ['assigned', 'submitted', 'assigned'].map((to) => ({ type: 'state', data: { to } }));
  const rows = (assigned: string) => [
    { topic: 'job.assigned.v1', count: assigned },
    { topic: 'job.submitted.v1', count: '1' },
  ];
  expect(checkAnnounced(events, rows('2'))).toEqual([]);
  expect(checkAnnounced(events, rows('1'))).toHaveLength(1);
  expect(checkAnnounced(events, rows('3'))).toHaveLength(1);
  expect(checkAnnounced(events, rows('2').slice(0, 1))).toHaveLength(1);
});

it('N1 a session without a grant of the broker of the terms is a violation', async () => {
  const job = await tinyJob();
  const party = await present();
  const { binding } = party.parsed;
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const strange = async (changes: Parameters<typeof grantTo>[2]) =>
    strangeGrant({ binding, ...(await grantTo(job, party, changes)) }, job.terms, domain);
  expect(await strange({})).toBeNull();
  expect(await strange({ signer: new Uint8Array(32).fill(0xbb) })).toContain('a grant of another broker');
  expect(await strange({ release: { job: new Uint8Array(32) } })).toContain('a grant for the escrow 00');
  expect(await strange({ release: { session: new Uint8Array(32) } })).toContain('a grant for the session 00');
});

it('money that is not where it should be is a violation', () => {
  const [job, client, provider] = ['0x01', '0xc1', '0xb2'];
  const token = '0x0000000000000000000000000000000000000000';
  const event = (name: string, args: Record<string, string>): EscrowEvent => ({
    ...{ name, args, job: args['job'] ?? null, blockNumber: 1, blockHash: '0x', logIndex: 0, txHash: '0x' },
  });
  const opened = event('JobOpened', { job, client, provider, token, price: '10', specDigest: '0x' });
  const ended = (toProvider: string, toClient: string, state = '5') =>
    event('JobEnded', { job, state, toProvider, toClient, toChallenger: '0', burnt: '0' });
  const credited = (who: string, amount: string) => event('Credited', { who, token, amount });
  const paid = [opened, ended('10', '0'), credited(provider, '10')];
  expect(moneyOf(paid, 10n, job, true)).toEqual([]);
  expect(moneyOf(paid, 9n, job, true)).toEqual(['the escrow holds 9 wei and owes 10']);
  expect(moneyOf([opened], 10n, job, false)).toEqual([]);
  expect(moneyOf([opened], 10n, job, true)).toHaveLength(1);
  expect(moneyOf([opened, ended('0', '10'), credited(client, '10')], 10n, job, false)).toEqual([]);
  expect(moneyOf([opened, ended('0', '10'), credited(client, '10')], 10n, job, true)).toHaveLength(1);
  expect(moneyOf([opened, ended('0', '12'), credited(client, '12')], 12n, job, false)).toHaveLength(1);
});

it('an end that no fault explains, and attempts that an absent broker used up, are violations', () => {
  const moment = { at: 'submitted', checkpoint: 1, afterMs: 0 } as const;
  const under = (fault: Fault) => ({ faults: [{ fault, moment, forMs: 1 }] });
  const settled = { state: 'settled', code: null, reason: null, attempt: 1 };
  const refused = { ...settled, state: 'refused', code: 'BROKER_REFUSED', reason: { detail: 'X509_PATH_NOT_YET' } };
  const yesterday = { kind: 'clock', part: 'key-broker', byMs: -86_400_000 } as const;
  expect(checkReason(settled, under({ kind: 'broker-away' }))).toEqual([]);
  expect(checkReason({ ...settled, attempt: 6 }, under({ kind: 'broker-away' }))).toHaveLength(1);
  expect(checkReason({ ...settled, attempt: 6 }, under({ kind: 'wipe-broker' }))).toEqual([]);
  expect(checkReason(refused, under(yesterday))).toEqual([]);
  expect(checkReason({ ...refused, reason: null }, under(yesterday))).toHaveLength(1);
  expect(checkReason({ ...refused, code: null }, under(yesterday))).toHaveLength(1);
  expect(checkReason(refused, under({ ...yesterday, byMs: -1000 }))).toHaveLength(1);
  expect(checkReason(refused, under({ kind: 'broker-away' }))).toHaveLength(1);
});
