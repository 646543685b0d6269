/** The program itself: ready line, one process per data directory, kill -9 and restart, clean stop, bad settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'graphql-ws';
import { afterAll, afterEach, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { datasetManifestJson } from '#attestation/records';
import { nodeCommand } from '#libs/process';
import { socketsPerAddressMax } from '../src/core/overload/sockets.js';
import { makeJob } from './job-fixture.js';

const { WebSocket } = createRequire(import.meta.url)('ws') as { WebSocket: typeof globalThis.WebSocket };

const directory = mkdtempSync(join(tmpdir(), 'veritrain-process-'));
const keysFile = join(directory, 'keys.json');
const key = 'vt_client_test-secret-of-a-client';
writeFileSync(keysFile, JSON.stringify([{ key, tenant: 'acme', role: 'client', name: 'test' }]));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  readonly port: number;
  readonly ended: Promise<number | null>;
  readonly errors: () => string;
}

function run(environment: Record<string, string>): { ready: Promise<Run>; ended: Promise<[number | null, string]> } {
  const [file, ...args] = nodeCommand('../src/main', import.meta.url);
  const child = spawn(file, args, {
    env: {
      PATH: process.env['PATH'],
      VERITRAIN_HTTP_PORT: '0',
      VERITRAIN_DISPATCH_PORT: '0',
      VERITRAIN_DATA_DIR: join(directory, 'data'),
      VERITRAIN_BOOTSTRAP_KEYS: keysFile,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let out = '';
  let errors = '';
  child.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const ready = new Promise<Run>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (!out.includes('\n')) return;
      const line = JSON.parse(out) as { ready: boolean; http: number; dispatch: number };
      expect(line).toEqual({ ready: true, http: expect.any(Number), dispatch: expect.any(Number) });
      resolve({ child, port: line.http, ended, errors: () => errors });
    });
    void ended.then(() => reject(new Error(errors)));
  });
  ready.catch(() => undefined);
  return { ready, ended: ended.then((code) => [code, errors]) };
}

const call = (port: number, path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'process-1' },
  });

it('keeps what it acknowledged through kill -9, shares its data with nobody, and stops cleanly', async () => {
  const first = await run({}).ready;
  const { dataset } = makeJob(0);
  const path = `/v1/datasets/${to0x(dataset.id)}`;
  const body = JSON.stringify({ manifest: datasetManifestJson(dataset) });
  expect((await call(first.port, '/v1/datasets', { method: 'POST', body })).status).toBe(201);

  const [code, errors] = await run({}).ended;
  expect(code).toBe(1);
  expect(errors).toContain('DATA_DIRECTORY_IN_USE');

  first.child.kill('SIGKILL');
  await first.ended;
  const second = await run({}).ready;
  expect((await call(second.port, path)).status).toBe(200);
  const again = await call(second.port, '/v1/datasets', { method: 'POST', body });
  expect(again.headers.get('idempotent-replayed')).toBe('true');

  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  expect(first.errors() + second.errors()).not.toContain('test-secret');
});

it('bounds what one address may do over WebSockets', async () => {
  const { child, port, errors } = await run({ VERITRAIN_DATA_DIR: join(directory, 'sockets') }).ready;
  const url = `ws://127.0.0.1:${port}/graphql`;
  const connectionParams = { authorization: `Bearer ${key}` };
  const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams });
  const wide = `{ ${Array.from({ length: 201 }, (_, n) => `a${n}: __typename`).join(' ')} }`;
  for (const [query, reason] of [
    [wide, 'QUERY_TOO_COMPLEX'],
    [`{ ${'__typename '.repeat(4000)} }`, '4000 tokens'],
  ] as const) {
    const refused: unknown = await client
      .iterate({ query })
      .next()
      .catch((error: unknown) => error);
    expect(JSON.stringify(refused)).toContain(reason);
  }
  await client.dispose();

  const open = () =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(url, 'graphql-transport-ws');
      socket.onopen = () => resolve('open');
      socket.onerror = () => resolve('refused');
    });
  const outcomes = await Promise.all(Array.from({ length: socketsPerAddressMax + 2 }, open));
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBeGreaterThanOrEqual(2);
  expect(outcomes).toContain('open');
  expect((await call(port, '/health/live')).status).toBe(200);
  child.kill('SIGTERM');
  expect(errors()).not.toContain('Internal error');
});

it('names the setting that is wrong', async () => {
  const wrong: [Record<string, string>, string][] = [
    [{ VERITRAIN_HTTP_PORT: 'x' }, 'CONFIG_INVALID'],
    [{ VERITRAIN_RPC_URL: 'http://127.0.0.1:1' }, 'CONFIG_CHAIN'],
    [{ VERITRAIN_BOOTSTRAP_KEYS: '/nowhere' }, 'CONFIG_BOOTSTRAP_KEYS'],
  ];
  for (const [environment, expected] of wrong) {
    const [code, errors] = await run(environment).ended;
    expect([code, JSON.parse(errors).code]).toEqual([1, expected]);
  }
});
