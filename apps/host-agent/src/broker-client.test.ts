import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
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
  ['NONCE_JOB', 403, '{"code":"NONCE_JOB"}', {}],
])('%s: status %i', async (code, status, body, headers) => {
  await expect(createBrokerClient(await broker(status, body, headers)).challenge(job)).rejects.toMatchObject({ code });
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
