/** Commands that steer jobs, nodes and keys, against a control plane that answers. */
import { readFileSync, statSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { runCommand } from '#test/run-command';
import { keys, startTestPlane, type KeyName, type TestPlane } from '../../apps/control-plane/test/harness.js';
import { providers, register, submitFunded, type Fixture } from '../../apps/control-plane/test/job-fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-steering-'));
let test: TestPlane;
let job: Fixture;
let node: string;
beforeAll(async () => {
  test = await startTestPlane();
  node = await register(test);
  job = await submitFunded(test);
});
afterAll(async () => {
  process.exitCode = 0;
  rmSync(folder, { recursive: true, force: true });
  await test.stop();
});

/** Runs a command against the control plane. @param who  name of a key, or the key */
async function veritrain(who: string, ...args: string[]) {
  const key = join(folder, 'key');
  writeFileSync(key, keys[who as KeyName] ?? who, { mode: 0o600 });
  return runCommand(...args, '--url', `http://127.0.0.1:${test.plane.httpPort}`, '--api-key', key);
}

it('a job is paused, resumed, cancelled and put back, by its client alone', async () => {
  const steer = async (name: string, who: KeyName = 'client') => (await veritrain(who, 'job', name, job.jobId)).json;
  expect(await steer('pause', 'otherClient')).toMatchObject({ error: { code: 'JOB_UNKNOWN' } });
  expect(await steer('pause')).toMatchObject({ state: 'paused', code: 'PAUSED_BY_CLIENT' });
  expect(await steer('status')).toMatchObject({ state: 'paused' });
  expect(await steer('resume')).toMatchObject({ state: 'submitted' });
  expect(await steer('cancel')).toMatchObject({ state: 'cancelled', code: 'CANCELLED_BY_CLIENT' });
  const refused = await veritrain('client', 'job', 'retry', job.jobId);
  expect(refused).toMatchObject({ code: 1, json: { error: { code: 'JOB_STATE', got: expect.any(String) } } });
  const listed = await veritrain('client', 'job', 'list', '--state', 'cancelled');
  expect(listed.json).toMatchObject({ items: [{ id: job.jobId }] });
});

it('data sets are listed and deleted by the client alone who has them', async () => {
  const listed = await veritrain('client', 'dataset', 'list');
  const { id } = (listed.json['items'] as { id: string }[])[0]!;
  expect((await veritrain('otherClient', 'dataset', 'list')).json).toEqual({ items: [], nextCursor: null });
  const foreign = await veritrain('otherClient', 'dataset', 'delete', id);
  expect(foreign).toMatchObject({ code: 1, json: { error: { code: 'DATASET_UNKNOWN' } } });
  const later = await submitFunded(test);
  const needed = await veritrain('client', 'dataset', 'delete', to0x(later.dataset.id));
  expect(needed).toMatchObject({ code: 1, json: { error: { code: 'DATASET_IN_USE' } } });
  expect((await veritrain('client', 'dataset', 'delete', id)).json).toEqual({ id, deleted: true });
  const rest = (await veritrain('client', 'dataset', 'list')).json['items'] as { id: string }[];
  expect(rest.map((one) => one.id)).toEqual([to0x(later.dataset.id)]);
});

it('nodes are listed, cordoned, drained and given jobs again by their operator', async () => {
  for (const [name, state] of [
    ['cordon', 'cordoned'],
    ['drain', 'draining'],
    ['uncordon', 'ready'],
  ] as const) {
    const { code, json } = await veritrain('operator', 'node', name, node);
    expect({ code, state: json['state'] }).toEqual({ code: 0, state });
    expect((await veritrain('operator', 'node', 'list')).json).toMatchObject({ items: [{ id: node, state }] });
  }
  const foreign = await veritrain('otherOperator', 'node', 'drain', node);
  expect(foreign).toMatchObject({ code: 1, json: { error: { code: 'NODE_UNKNOWN' } } });
  const client = await veritrain('client', 'node', 'drain', node);
  expect(client.json).toMatchObject({ error: { code: 'ROLE_FORBIDDEN' } });
  const malformed = await veritrain('operator', 'node', 'drain', '../keys');
  expect(malformed.json).toMatchObject({ error: { code: 'USAGE' } });
});

it('keys are made, used, listed page by page and revoked by administrators', async () => {
  const out = join(folder, 'made.test-api-key');
  const wanted = ['--tenant', 'host', '--role', 'operator', '--provider', providers.operator, '--name', 'second'];
  const made = await veritrain('admin', 'key', 'create', ...wanted, '--out', out);
  expect(made.json).toMatchObject({ tenant: 'host', role: 'operator', provider: providers.operator, out });
  expect(statSync(out).mode & 0o077).toBe(0);
  const key = readFileSync(out, 'utf8').trim();
  expect(JSON.stringify(made.json)).not.toContain(key);
  expect((await veritrain(key, 'node', 'cordon', node)).json).toMatchObject({ state: 'cordoned' });
  const shown = await veritrain('admin', 'key', 'create', '--tenant', 'acme', '--role', 'client');
  expect((await veritrain(shown.json['key'] as string, 'job', 'list')).code).toBe(0);
  const first = await veritrain('admin', 'key', 'list', '--limit', '1');
  const rest = await veritrain('admin', 'key', 'list', '--cursor', first.json['nextCursor'] as string);
  const ids = [first, rest].flatMap(({ json }) => (json['items'] as { id: string }[]).map(({ id }) => id));
  expect(ids).toContain(made.json['id']);
  expect(new Set(ids).size).toBe(ids.length);
  const revoked = await veritrain('admin', 'key', 'revoke', made.json['id'] as string);
  expect(revoked.json).toMatchObject({ revokedAt: expect.any(String) });
  const refused = await veritrain(key, 'node', 'cordon', node);
  expect(refused).toMatchObject({ code: 1, json: { error: { code: 'AUTH_UNKNOWN' } } });
  expect(await veritrain('operator', 'key', 'list')).toMatchObject({
    json: { error: { code: 'ROLE_FORBIDDEN' } },
  });
  const without = await veritrain('admin', 'key', 'create', '--tenant', 'host', '--role', 'operator');
  expect(without).toMatchObject({ code: 1, json: { error: { code: 'KEY_PROVIDER', got: 'no --provider' } } });
});
