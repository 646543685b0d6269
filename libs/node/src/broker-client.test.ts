import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { type Rejection } from '#attestation/base';
import { chunkBytes } from '#attestation/records';
import { createBrokerClient } from './broker-client.js';
import { brokerPatience, retryAfterMs } from './broker-patience.js';

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

/** A broker of somebody's making. */
async function broker(status: number, body: string, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const job = `0x${'00'.repeat(32)}`;

it.each([
  ['BROKER_ANSWER', 200, '{"nonce":"0x00"}', {}],
  ['BROKER_ANSWER', 200, '[]', {}],
  ['ANSWER_TOO_LARGE', 200, ' '.repeat(17_000_000), {}],
  ['ANSWER_TOO_LARGE', 403, ' '.repeat(100_000), {}],
  ['BROKER_REFUSED', 403, '{', {}],
  ['BROKER_REFUSED', 403, 'null', {}],
  ['BROKER_REFUSED', 403, '{"code":"not a code"}', {}],
  ['BROKER_REFUSED', 403, '{"code":{"a":1},"expected":7}', {}],
  ['BROKER_RECIPIENT', 403, '{"code":"BROKER_RECIPIENT"}', {}],
])('%s: status %i', async (code, status, body, headers) => {
  await expect(createBrokerClient(await broker(status, body, headers)).challenge(job)).rejects.toMatchObject({ code });
});

it('BROKER_REFUSED: names the code of an appraisal, without control characters', async () => {
  const problem = JSON.stringify({
    code: 'SNP_POLICY_DEBUG_SET',
    got: 'debug\u001b[2J on\n',
    expected: 'x'.repeat(9999),
  });
  const refused = await createBrokerClient(await broker(403, problem))
    .challenge(job)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'BROKER_REFUSED', detail: { got: 'SNP_POLICY_DEBUG_SET: debug [2J on ' } });
  expect((refused as Rejection).detail.expected).toHaveLength(400);
});

it.each(['NONCE_JOB', 'NONCE_EXPIRED', 'NONCE_UNKNOWN', 'NONCES_OUTSTANDING'])(
  '%s: may be tried again',
  async (code) => {
    const asked = createBrokerClient(await broker(403, JSON.stringify({ code }))).challenge(job);
    await expect(asked).rejects.toMatchObject({ code, family: 'collateral' });
  },
);

it.each([
  ['http://broker.example', undefined],
  ['ftp://127.0.0.1', undefined],
  ['https://user:word@broker.example', undefined],
  ['https://broker.example/?a=1', undefined],
  ['not a url', undefined],
  ['https://broker.example', ['https://other.example']],
  ['https://broker.example:444', ['https://broker.example']],
  ['http://127.0.0.1:1', []],
])('HOST_BROKER: %s where %j', (url, allowed) => {
  expect(() => createBrokerClient(url, allowed)).toThrow(/^HOST_BROKER/);
});

it.each([
  ['https://broker.example/path/', undefined],
  ['http://localhost:1', undefined],
  ['http://broker.example/', ['http://broker.example']],
])('asks %s where %j', (url, allowed) => {
  expect(() => createBrokerClient(url, allowed)).not.toThrow();
});

it('S-H3 stores a result piece by piece, sends what is missing alone, and asks for the word on it', async () => {
  const asked: { method: string; path: string; bytes: number }[] = [];
  const signature = `0x${'01'.repeat(65)}`;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url } = request;
      asked.push({ method: method!, path: url!, bytes: Buffer.concat(chunks).length });
      const isOffer = /results\/0x[0-9a-f]{64}$/.test(url!);
      const stored = { missing: isOffer ? [1, 2] : [] };
      const said = { signature, account: `0x${'02'.repeat(20)}`, until: 7 };
      response.end(JSON.stringify(url === '/v1/availability' ? said : stored));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = createBrokerClient(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
  const ciphertext = new Uint8Array(2 * chunkBytes + 5);
  const [result, terms] = [new Uint8Array(32).fill(9), Uint8Array.of(1)];
  await client.store({ job: result, terms, ciphertext, revealKey: new Uint8Array(32) });
  const path = `/v1/results/0x${'09'.repeat(32)}`;
  expect(asked.map(({ method, path: to }) => `${method} ${to}`)).toEqual([
    `PUT ${path}`,
    `PUT ${path}/1`,
    `PUT ${path}/2`,
  ]);
  expect(asked.slice(1).map(({ bytes }) => bytes)).toEqual([chunkBytes, 5]);
  const answer = await client.availability(terms);
  expect([answer.signature, answer.until]).toEqual([new Uint8Array(65).fill(1), 7]);
});

it('BROKER_ANSWER: a broker that misses a piece that there is not', async () => {
  const client = createBrokerClient(await broker(200, '{"missing":[1]}'));
  const [job, terms, ciphertext] = [new Uint8Array(32), Uint8Array.of(1), Uint8Array.of(2)];
  const stored = client.store({ job, terms, ciphertext, revealKey: new Uint8Array(32) });
  await expect(stored).rejects.toMatchObject({ code: 'BROKER_ANSWER' });
});

it('BROKER_UNREACHABLE: an answer that sends the host elsewhere, or is no JSON, after every attempt', async () => {
  const elsewhere = await broker(307, '', { location: 'http://127.0.0.1:1/' });
  const attempts = [elsewhere, await broker(200, 'hello'), await broker(500, '')].map((url) =>
    createBrokerClient(url).challenge(job),
  );
  for (const attempt of await Promise.allSettled(attempts)) {
    expect(attempt).toMatchObject({ status: 'rejected', reason: { code: 'BROKER_UNREACHABLE' } });
  }
}, 30_000);

it.each<[string, number, string, string]>([
  ['NONCES_OUTSTANDING', 503, '{"code":"NONCES_OUTSTANDING","action":"ask again within 120 seconds"}', '2'],
  ['BROKER_CHAIN', 500, '{"code":"BROKER_CHAIN"}', 'soon'],
  ['BROKER_BUSY', 503, '{"code":"COLLATERAL_TIMEOUT"}', '0'],
  ['BROKER_UNREACHABLE', 503, 'not json', '7'],
  ['BROKER_BUSY', 429, '{"code":"RATE_LIMITED"}', '600'],
])(
  'W-H1 %s: status %i is no end; pauses grow, and are no shorter than Retry-After',
  async (code, status, body, after) => {
    let time = 0;
    const pauses: number[] = [];
    const clock = { now: () => time, sleep: async (ms: number) => void (time += ms) };
    const patience = brokerPatience({ withinMs: 120_000, clock, onPause: (_, ms) => void pauses.push(ms) });
    const url = await broker(status, body, { 'retry-after': after });
    const asked = createBrokerClient(url, undefined, patience).challenge(job);
    await expect(asked).rejects.toMatchObject({ code, family: 'collateral' });
    const least = retryAfterMs(after, 0);
    expect(pauses.length).toBe(least > 120_000 ? 0 : pauses.length || -1);
    expect(pauses.every((pause) => pause >= least && pause <= Math.max(least, 15_000))).toBe(true);
    expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  },
);

it('W-H1 asks once where the broker refuses for good', async () => {
  const pauses: number[] = [];
  const patience = brokerPatience({ withinMs: 120_000, onPause: (_, ms) => void pauses.push(ms) });
  const asked = createBrokerClient(await broker(403, '{"code":"BROKER_RECIPIENT"}'), undefined, patience).challenge(
    job,
  );
  await expect(asked).rejects.toMatchObject({ code: 'BROKER_RECIPIENT', family: 'rejection' });
  expect(pauses).toEqual([]);
});

it('reads Retry-After as seconds or date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(retryAfterMs('5', now)).toBe(5000);
  expect(retryAfterMs('Thu, 01 Jan 2026 00:00:10 GMT', now)).toBe(10_000);
  expect(['x', null, '-4', 'Thu, 01 Jan 2015 00:00:10 GMT'].map((value) => retryAfterMs(value, now))).toEqual([
    0, 0, 0, 0,
  ]);
  expect(retryAfterMs('999999999', now)).toBe(86_400_000);
});
