import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { fixturePath } from '#test/fixture';
import { readPeers } from './peers.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-peers-'));
afterAll(() => rmSync(folder, { recursive: true }));
const entry = fileURLToPath(new URL('../main.ts', import.meta.url));
const flags = ['--conditions=source', '--import', '@oxc-node/core/register'];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

/** Whether a connection stays open for a while. */
async function stays(host: string, port: number): Promise<boolean | null> {
  const socket = connect(port, host);
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  if (!isOpen) return null;
  const closed = await Promise.race([once(socket, 'close').then(() => true), sleep(1500, false)]).catch(() => true);
  socket.destroy();
  return !closed;
}

describe('who may connect', () => {
  it.each<[string, string | undefined, readonly string[], readonly string[]]>([
    ['127.0.0.1', undefined, ['127.0.0.1', '127.8.0.1', '::ffff:127.0.0.1'], ['10.0.2.2', '', 'x']],
    ['0.0.0.0', '10.0.2.2', ['10.0.2.2', '::ffff:10.0.2.2'], ['10.0.2.3', '127.0.0.1', '::1']],
    ['::', '10.42.0.0/16, fd00::/8', ['10.42.9.9', 'fd00::1'], ['10.43.0.1', 'fe80::1', '::ffff:10.43.0.1']],
  ])('A-L7 on %s with %s', (host, listed, allowed, refused) => {
    const isPeer = readPeers(host, listed);
    expect(allowed.filter((address) => !isPeer(address))).toEqual([]);
    expect(refused.filter((address) => isPeer(address))).toEqual([]);
    expect(isPeer(undefined)).toBe(false);
  });

  it.each([undefined, '', 'host', '10.0.0.0/33', '10.0.0.0/', '1.2.3.4/8/8', '::/129', '10.0.0.1,'])(
    'A-L7 beyond this machine is told who, as addresses: %s is not enough',
    (listed) => {
      expect(() => readPeers('0.0.0.0', listed)).toThrow(/^ENCLAVE_PEERS/);
    },
  );
});

describe('an enclave in a guest', () => {
  async function started(...args: string[]) {
    const vendor = join(folder, 'none.json');
    const child = spawn(process.execPath, [...flags, entry, ...args, '--attester', 'simulated', '--vendor', vendor]);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    const [status] = (await once(child, 'exit')) as [number];
    return { status, said };
  }

  it('A-L7 does not start beyond this machine without a list of peers', async () => {
    const { status, said } = await started('--listen', `tcp:0.0.0.0:${await freePort()}`);
    expect([status, said]).toEqual([1, expect.stringContaining('ENCLAVE_PEERS')]);
  });

  it('A-L7 hangs up on who is not on the list, and goes on listening', async () => {
    const outer = Object.values(networkInterfaces())
      .flat()
      .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address;
    const vendorFile = fixturePath('test-vendor-milan.json');
    const port = await freePort();
    const listen = ['--listen', `tcp:0.0.0.0:${port}`, '--peer', outer ?? '127.0.0.2'];
    const child = spawn(
      process.execPath,
      [...flags, entry, ...listen, '--attester', 'simulated', '--vendor', vendorFile],
      { stdio: 'inherit' },
    );
    try {
      // Beside the list: heard, and hung up on, as often as it comes.
      await expect.poll(() => stays('127.0.0.1', port)).toBe(false);
      expect(await stays('127.0.0.1', port)).toBe(false);
      if (outer !== undefined) expect(await stays(outer, port)).toBe(true);
      expect(child.exitCode).toBe(null);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
