/** An enclave that was started by somebody else, as a guest's service manager would. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { freePort, nodeCommand, startProcess, type StartedProcess } from '#libs/process';
import { connectEnclave } from './index.js';
import { createEnclaveClient, type EnclaveClient } from './client.js';

const vendor = fileURLToPath(new URL('../../../test/support/fixtures/test-vendor-milan.json', import.meta.url));
const started: StartedProcess[] = [];
afterEach(() => Promise.all(started.splice(0).map(({ kill }) => kill())));

function startEnclave(args: readonly string[]): StartedProcess {
  const command = nodeCommand('../../../enclave/src/main', import.meta.url, args);
  const enclave = startProcess(command, { stdio: ['ignore', 'inherit', 'inherit'] });
  started.push(enclave);
  return enclave;
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
  const { exited } = startEnclave(args);
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
  startEnclave(args);
  const stranger = await reached(`tcp:127.0.0.1:${port}`);
  const body = { provider: new Uint8Array(20).fill(1), chainId: 1, registry: new Uint8Array(20).fill(2) };
  await expect(stranger.request('open', body)).rejects.toMatchObject({ code: 'ENCLAVE_LOST' });
  const host = createEnclaveClient(connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }));
  expect((await host.request('open', body)).length).toBeGreaterThan(100);
  host.close();
});

it('serves a connection that is already open, as a guest’s first process hands it on, and ends with it', async () => {
  const args = ['--listen', 'fd:3', '--attester', 'simulated', '--vendor', vendor];
  const command = nodeCommand('../../../enclave/src/main', import.meta.url, args);
  const enclave = startProcess(command, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  started.push(enclave);
  const client = createEnclaveClient(enclave.child.stdio[3] as Socket);
  const body = { provider: new Uint8Array(20).fill(1), chainId: 1, registry: new Uint8Array(20).fill(2) };
  expect((await client.request('open', body)).length).toBeGreaterThan(100);
  client.close();
  expect(await enclave.exited).toBe(0);
});

it('ENCLAVE_LISTEN: an address of another form', async () => {
  await expect(connectEnclave('vsock:3:5000')).rejects.toMatchObject({ code: 'ENCLAVE_LISTEN' });
});
