/**
 * Clients that follow one job over GraphQL, in a process of their own: port, API key, job, how many, and the last byte of the
 * first loopback address that they dial from are its arguments. Says
 * `{ opened }` when each has had its first event, `{ heard }` when each has had that of the step it waits for, and
 * `{ failed }` with what came instead. It ends with its parent.
 */
import { createRequire } from 'node:module';
import { createClient, type Client } from 'graphql-ws';
import { followedStep, operationsPerSocket, socketsPerAddress } from './followers.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as {
  WebSocket: new (url: string, protocols: string, options: object) => object;
};
const [port, key, jobId, wanted, from] = process.argv.slice(2);
const followers = Number(wanted);
const openingAtOnce = 10 * operationsPerSocket;
let opened = 0;
let heard = 0;
let wake = (): void => undefined;

function clientFrom(localAddress: string): Client {
  class From extends WebSocket {
    constructor(url: string, protocols: string) {
      super(url, protocols, { localAddress });
    }
  }
  return createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: From,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  });
}

function follow(client: Client): void {
  const query = `subscription { jobProgress(jobId: "${jobId}") { type state progress { step } } }`;
  let isFirst = true;
  const next = (answer: { errors?: unknown; data?: unknown }): void => {
    if (answer.errors !== undefined) return failed(answer.errors);
    if (isFirst) opened += 1;
    isFirst = false;
    wake();
    if (JSON.stringify(answer).includes(`"step":${followedStep}`)) heard += 1;
    if (heard === followers) process.send!({ heard });
  };
  client.subscribe({ query }, { next, error: failed, complete: () => undefined });
}

function failed(error: unknown): void {
  process.send!({ failed: error instanceof Error ? error.message : JSON.stringify(error) });
}

process.once('disconnect', () => process.exit(0));
for (let count = 0; count < followers; count += operationsPerSocket) {
  const client = clientFrom(`127.0.0.${Number(from) + Math.floor(count / operationsPerSocket / socketsPerAddress)}`);
  const own = Math.min(operationsPerSocket, followers - count);
  for (let n = 0; n < own; n += 1) follow(client);
  while (opened < count + own - openingAtOnce) await new Promise<void>((resolve) => (wake = resolve));
}
while (opened < followers) await new Promise<void>((resolve) => (wake = resolve));
process.send!({ opened });
