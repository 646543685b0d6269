/** An enclave that was started by somebody else, as a guest's service manager would. */
import { spawn, type ChildProcess } from 'node:child_process';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { connectEnclave } from './index.js';
import { createEnclaveClient, type EnclaveClient } from './client.js';

const main = fileURLToPath(new URL('../../../enclave/src/main.ts', import.meta.url));
const vendor = fileURLToPath(new URL('../../../test/support/fixtures/test-vendor-milan.json', import.meta.url));
const fromSource = ['--conditions=source', '--import', '@oxc-node/core/register'];
const started: ChildProcess[] = [];
afterEach(() => started.splice(0).forEach((child) => child.kill('SIGKILL')));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function reached(address: string): Promise<EnclaveClient> {
  for (;;) {
    try {
      return await connectEnclave(address);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENCLAVE_AWAY' });
      await sleep(100);
    }
  }
}

it('serves one session over TCP and ends with it', async () => {
  const address = `tcp:127.0.0.1:${await freePort()}`;
  const args = ['--listen', address, '--attester', 'simulated', '--vendor', vendor];
  const child = spawn(process.execPath, [...fromSource, main, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  started.push(child);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const client = await reached(address);
  const body = { provider: new Uint8Array(20).fill(1), chainId: 1, registry: new Uint8Array(20).fill(2) };
  expect((await client.request('open', body)).length).toBeGreaterThan(100);
  await expect(connectEnclave(address)).rejects.toMatchObject({ code: 'ENCLAVE_AWAY' });
  client.close();
  expect(await exited).toBe(0);
});

it('A-L7 with --peer serves that address alone, whoever connects first', async () => {
  const port = await freePort();
  const args = [
    '--listen',
    `tcp:127.0.0.1:${port}`,
    '--peer',
    '127.0.0.2',
    '--attester',
    'simulated',
    '--vendor',
    vendor,
  ];
  const child = spawn(process.execPath, [...fromSource, main, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
  started.push(child);
  const stranger = await reached(`tcp:127.0.0.1:${port}`);
  const body = { provider: new Uint8Array(20).fill(1), chainId: 1, registry: new Uint8Array(20).fill(2) };
  await expect(stranger.request('open', body)).rejects.toMatchObject({ code: 'ENCLAVE_LOST' });
  const host = createEnclaveClient(connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }));
  expect((await host.request('open', body)).length).toBeGreaterThan(100);
  host.close();
});

it('ENCLAVE_LISTEN: an address of another form', async () => {
  await expect(connectEnclave('vsock:3:5000')).rejects.toMatchObject({ code: 'ENCLAVE_LISTEN' });
});
