/** The program itself: ready line, one process per data directory, kill -9 and restart, clean stop, bad settings. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { datasetManifestJson } from '#attestation';
import { hex, makeJob } from './job-fixture.js';

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
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--conditions=source', '--import', '@oxc-node/core/register', main], {
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
  const path = `/v1/datasets/${hex(dataset.id)}`;
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
