/** What strangers can do over WebSockets: no more than over HTTP. */
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect, type Socket as Connection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { smallBodyBytesMax } from '../src/core/overload/limits.js';
import { keys, startTestPlane, StillClock, type TestPlane } from './harness.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: typeof globalThis.WebSocket };

let test: TestPlane;
beforeAll(async () => {
  test = await startTestPlane();
});
afterAll(async () => test.stop());
afterEach(() => vi.restoreAllMocks());

interface Socket {
  readonly socket: WebSocket;
  /** The next message, or the code that the socket was closed with. */
  next(): Promise<unknown>;
}

async function open(plane = test): Promise<Socket> {
  const socket = new WebSocket(`ws://127.0.0.1:${plane.plane.httpPort}/graphql`, 'graphql-transport-ws');
  const said: unknown[] = [];
  socket.onmessage = ({ data }) => void said.push(JSON.parse(String(data)));
  socket.onclose = ({ code }) => void said.push(code);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  socket.onerror = () => undefined;
  const next = async () => {
    await expect.poll(() => said.length).toBeGreaterThan(0);
    return said.shift();
  };
  return { socket, next };
}

async function greet(plane = test, key?: string): Promise<Socket> {
  const opened = await open(plane);
  const payload = key === undefined ? {} : { authorization: `Bearer ${key}` };
  opened.socket.send(JSON.stringify({ type: 'connection_init', payload }));
  expect(await opened.next()).toEqual({ type: 'connection_ack' });
  return opened;
}

const ask = ({ socket }: Socket, query: string): void =>
  socket.send(JSON.stringify({ type: 'subscribe', id: 'a', payload: { query } }));

describe('a connection that is to be a WebSocket', () => {
  const upgrade = (path: string): Promise<{ socket: Connection; answer: string }> =>
    new Promise((resolve) => {
      const head = `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n`;
      const own = 'sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n';
      const socket = connect(test.plane.httpPort, '127.0.0.1', () => socket.write(head + own));
      socket.on('error', () => undefined);
      socket.once('data', (bytes) => resolve({ socket, answer: String(bytes) }));
    });

  it('leads to GraphQL and nowhere else', async () => {
    const { socket, answer } = await upgrade('/v1/jobs');
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    await once(socket, 'close');
    expect((await upgrade('/graphql')).answer).toMatch(/^HTTP\/1\.1 101 /);
  });

  it('may break at any path without ending the process', async () => {
    for (const path of ['/graphql', '/graphql?a=b', '/x']) (await upgrade(path)).socket.resetAndDestroy();
    const early = connect(test.plane.httpPort, '127.0.0.1', () => {
      early.write('GET /x HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n', () =>
        early.resetAndDestroy(),
      );
    });
    early.on('error', () => undefined);
    await once(early, 'close');
    await sleep(300);
    await test.as(null).get('/health/live').expect(200);
  });
});

describe('messages over a WebSocket', () => {
  it('W-H3 are as small as bodies are, with a key or without', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const printed = vi.spyOn(console, 'error');
    const hostile = `{"type":"ping","payload":{"a":[${'[],'.repeat(1_390_000)}[]]}}`;
    for (const { socket, next } of [await open(), await greet(), await greet(test, keys.client)]) {
      socket.send(hostile);
      expect(await next()).toBe(1009);
    }
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(smallBodyBytesMax);
    expect(printed).not.toHaveBeenCalled();
    const small = await greet();
    small.socket.send(JSON.stringify({ type: 'ping', payload: { a: 'x'.repeat(smallBodyBytesMax - 100) } }));
    expect(await small.next()).toMatchObject({ type: 'pong' });
    small.socket.close();
  });

  it('W-H3 are not parsed as GraphQL without a key, introspection included', async () => {
    for (const key of [undefined, 'vt_nobody_test-secret-of-nobody']) {
      for (const query of [getIntrospectionQuery(), '{ not graphql at all', '{ __typename }']) {
        const opened = await greet(test, key);
        ask(opened, query);
        const code = key === undefined ? 'AUTH_MISSING' : 'AUTH_UNKNOWN';
        const errors = [expect.objectContaining({ extensions: expect.objectContaining({ code }) })];
        expect(await opened.next()).toMatchObject({ type: 'error', payload: errors });
        opened.socket.close();
      }
    }
    const known = await greet(test, keys.client);
    ask(known, '{ __typename }');
    expect(await known.next()).toMatchObject({ type: 'next', payload: { data: { __typename: 'Query' } } });
    known.socket.close();
  });

  it('W-M2 are refused on an open socket once its key is revoked', async () => {
    const wanted = { tenant: 'acme', role: 'reviewer' };
    const { id, key } = (await test.as('admin').post('/v1/keys', wanted).expect(201)).body as Record<string, string>;
    const opened = await greet(test, key);
    ask(opened, '{ __typename }');
    expect(await opened.next()).toMatchObject({ type: 'next' });
    expect(await opened.next()).toMatchObject({ type: 'complete' });
    await test.as('admin').post(`/v1/keys/${id}/revoke`, {}).expect(200);
    ask(opened, '{ jobPage { nextCursor } }');
    expect(JSON.stringify(await opened.next())).toContain('AUTH_UNKNOWN');
    opened.socket.close();
  });

  it('W-H3 of one address are so many a minute', async () => {
    const slow = await startTestPlane({ addressRequestsPerMinute: 20 }, { clock: new StillClock() });
    try {
      const { socket, next } = await greet(slow);
      for (let count = 0; count < 20; count += 1) socket.send('{"type":"ping"}');
      let said = await next();
      while (typeof said === 'object') said = await next();
      expect(said).toBe(1008);
    } finally {
      await slow.stop();
    }
  });
});
