import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readConfig } from './config.js';

const directory = mkdtempSync(join(tmpdir(), 'veritrain-config-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const codeOf = (environment: Record<string, string>): string => {
  try {
    readConfig(environment);
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it('has a default for everything but the chain', () => {
  const config = readConfig({});
  expect(config.chain).toBeNull();
  expect(config.databaseUrl).toBeNull();
  expect(config.leaseSeconds).toBeGreaterThan(config.heartbeatSeconds);
});

it('refuses what cannot be meant, by code', () => {
  const contract = `0x${'11'.repeat(20)}`;
  expect(codeOf({ VERITRAIN_RPC_URL: 'http://127.0.0.1:1', VERITRAIN_CONTRACT: contract })).toBe('ok');
  expect(codeOf({ VERITRAIN_CONTRACT: contract })).toBe('CONFIG_CHAIN');
  expect(codeOf({ VERITRAIN_HTTP_PORT: '70000' })).toBe('CONFIG_INVALID');
  expect(codeOf({ VERITRAIN_CONTRACT: '0x12' })).toBe('CONFIG_INVALID');
  expect(codeOf({ DATABASE_URL: 'mysql://x' })).toBe('CONFIG_INVALID');
  expect(codeOf({ VERITRAIN_LEASE_SECONDS: '5', VERITRAIN_HEARTBEAT_SECONDS: '5' })).toBe('CONFIG_LEASE');
});

it('does not repeat a database password', () => {
  const password = 'test-password';
  try {
    readConfig({ DATABASE_URL: `http://user:${password}@host/db` });
    expect.unreachable();
  } catch (error) {
    expect(JSON.stringify(error)).not.toContain(password);
  }
});

it('refuses bootstrap keys that are malformed', () => {
  const file = join(directory, 'keys.json');
  const good = { key: 'vt_abcd_test-secret-0123456789', tenant: 'acme', role: 'client' };
  const keysOf = (keys: unknown): string => {
    writeFileSync(file, JSON.stringify(keys));
    return codeOf({ VERITRAIN_BOOTSTRAP_KEYS: file });
  };
  expect(keysOf([good, { ...good, role: 'operator', provider: `0x${'11'.repeat(20)}` }])).toBe('ok');
  for (const bad of [
    { ...good, role: 'root' },
    { ...good, key: 'secret' },
    { ...good, tenant: '' },
    { ...good, role: 'operator' },
    { ...good, provider: `0x${'11'.repeat(20)}` },
  ]) {
    expect(keysOf([bad])).toBe('CONFIG_BOOTSTRAP_KEYS');
  }
  expect(codeOf({ VERITRAIN_BOOTSTRAP_KEYS: '/nowhere' })).toBe('CONFIG_BOOTSTRAP_KEYS');
});
