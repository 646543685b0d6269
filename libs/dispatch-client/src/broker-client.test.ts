import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import type { Rejection } from '#attestation';
import { createBrokerClient } from './broker-client.js';

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
  ['ANSWER_TOO_LARGE', 200, ' '.repeat(3_000_000), {}],
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

it('sends a ciphertext with its terms to be vouched for', async () => {
  let asked: unknown;
  const signature = `0x${'01'.repeat(65)}`;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      asked = { path: request.url, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
      response.end(JSON.stringify({ signature, account: `0x${'02'.repeat(20)}` }));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  const answer = await createBrokerClient(url).availability({ terms: Uint8Array.of(1), ciphertext: Uint8Array.of(2) });
  expect(asked).toEqual({ path: '/v1/availability', body: { terms: 'AQ==', ciphertext: 'Ag==' } });
  expect(answer.signature).toEqual(new Uint8Array(65).fill(1));
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
