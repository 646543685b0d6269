import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { ControlPlaneSettings, hostRoot, readSettings } from './node-settings.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'node.json');
const named = { code: 'TEST_SETTINGS', rule: 'test' };
const Schema = z.strictObject({ controlPlane: ControlPlaneSettings, key: z.string() });
const apiKey = 'vt_test_test-secret-0123456789';
const dispatch = { host: '127.0.0.1', port: 1 };
const right = { controlPlane: { url: 'http://127.0.0.1:2', dispatch, apiKey }, key: 'account.test-key' };

function read(settings: unknown) {
  writeFileSync(path, typeof settings === 'string' ? settings : JSON.stringify(settings));
  return readSettings(path, Schema, named);
}

it('reads one file, with paths and secrets near it', () => {
  const secret = `0x${'5a'.repeat(32)}`;
  writeFileSync(join(folder, 'account.test-key'), `${secret}\n`);
  const node = read(right);
  expect(node.controlPlane).toEqual({
    urls: ['http://127.0.0.1:2'],
    dispatch: { kind: 'tcp', addresses: [{ ...dispatch, tls: null }] },
    apiKey,
    answerSeconds: 30,
  });
  expect(node.secret(node.settings.key)).toBe(secret);
  expect(node.near('data')).toBe(join(folder, 'data'));
});

const tls = { key: 'nowhere', cert: 'nowhere', ca: 'nowhere' };
it.each<[string, unknown, RegExp]>([
  ['no JSON', '{', /readable JSON/],
  ['an unknown member', { ...right, more: 1 }, /node\.json/],
  ['a wrong member', { ...right, key: 1 }, /node\.json/],
  ['a host beyond this machine', withDispatch({ host: '192.0.2.1', port: 1 }), /carry an API key/],
  ['NATS beyond this machine', withDispatch({ nats: ['nats://192.0.2.1:4222'] }), /carry an API key/],
  ['a certificate that is not there', withDispatch({ ...dispatch, tls }), /nowhere: a readable file/],
])('%s is refused by name', (_, settings, expected) => {
  expect(() => read(settings)).toThrow(
    expect.objectContaining({ code: 'TEST_SETTINGS', detail: expect.objectContaining({ rule: 'test' }) }),
  );
  expect(() => read(settings)).toThrow(expected);
});

it('says which file is not there, or holds no secret, and never what it holds', () => {
  const node = read(right);
  writeFileSync(join(folder, 'short'), 'not-a-secret');
  expect(() => node.secret('short')).toThrow(/short: 32 bytes as 0x-hexadecimal, got 12 characters/);
  expect(() => node.secret('absent')).toThrow(/absent: a readable file/);
  expect(() => readSettings(join(folder, 'none.json'), Schema, named)).toThrow(/none\.json: a readable JSON document/);
});

function withDispatch(other: unknown) {
  return { ...right, controlPlane: { ...right.controlPlane, dispatch: other } };
}

it('N11 has one root of host secrets for all machines of an account, its own or one that its secret leads to', () => {
  const [one, other] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`];
  expect(hostRoot(one, undefined)).toEqual(hostRoot(one, undefined));
  expect(hostRoot(one, undefined)).not.toEqual(hostRoot(other, undefined));
  expect(hostRoot(one, undefined)).toHaveLength(32);
  expect(hostRoot(one, other)).toEqual(new Uint8Array(32).fill(2));
});
