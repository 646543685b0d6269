/** Escrows that come to nothing: the host agent, a process of its own, takes its stake out of them by itself. */
import { join } from 'node:path';
import { JsonRpcProvider, Wallet } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keccak, to0x, toHex, utf8 } from '#attestation/base';
import { encodeTerms, JobMode } from '#attestation/records';
import { readSecret } from '#libs/client/files';
import { addressBytes, SettlementClient } from '#libs/settlement';
import { startTestSystem, type TestSystem } from '#test/embedded';
import { enclaveKey, marketTerms, native, releaseOf, window } from '#test/escrow-market';
import { openPendingEscrows } from '../../apps/host-agent/src/pending.js';

const withinMs = 60_000;

let test: TestSystem;
let rpc: JsonRpcProvider;
let hostFolder: string;
beforeAll(async () => {
  test = await startTestSystem();
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1, pollingInterval: 50 });
  hostFolder = join(test.folder, 'system', 'simulated-node-1');
}, 240_000);
afterAll(async () => {
  rpc?.destroy();
  await test?.stop();
});

const walletOf = (secret: Uint8Array): Wallet => new Wallet(to0x(secret), rpc);

it.each([
  ['accepted, and never started', 'Accepted', 'Aborted', 0n],
  ['started, and never committed', 'Started', 'Abandoned', 1n],
] as const)('%s: the host ends it when its window has passed', { timeout: 300_000 }, async (name, at, end, lost) => {
  const { deployment, accountKey } = test.profile.chain;
  const [client, host] = [accountKey, join(hostFolder, 'provider.test-key')].map((file) => walletOf(readSecret(file)));
  const [ofClient, ofHost] = [client!, host!].map((wallet) => new SettlementClient(deployment, wallet));
  const terms = marketTerms({
    ...{ client: addressBytes(client!.address), provider: addressBytes(host!.address) },
    ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [], specDigest: keccak(utf8(name)) },
    windows: { reveal: window, ack: window },
  });
  await test.system.kill('host-agent');
  await ofClient!.open(terms);
  const before = await ofClient!.creditOf(client!.address, native);
  // What a host does for a lease before it dies: the escrow goes to disk first.
  const lease = { leaseId: 'a lease that ended', fence: 1 };
  const jobId = keccak(utf8(`job ${name}`));
  openPendingEscrows(join(hostFolder, 'data', 'pending')).save({
    ...{ jobId, lease, terms: encodeTerms(terms), brokerUrl: test.profile.broker.url },
    ...{ version: 2, key: new Uint8Array(20), result: null, told: false, stored: false, receipts: [] },
  });
  await ofHost!.accept(terms);
  if (at === 'Started') {
    await ofHost!.start(terms, releaseOf({ as: () => ofHost! }, terms, enclaveKey));
  }
  await test.system.start('host-agent');
  // It waits as long as the work may still come.
  expect((await ofClient!.job(terms)).state).toBe(at);
  await rpc.send('evm_increaseTime', [window + 1]);
  await rpc.send('evm_mine', []);
  await expect.poll(async () => (await ofClient!.job(terms)).state, { timeout: withinMs }).toBe(end);
  expect((await ofClient!.creditOf(client!.address, native)) - before).toBe(terms.price + lost * terms.liveness);
  await expect
    .poll(() => openPendingEscrows(join(hostFolder, 'data', 'pending')).find(toHex(jobId)), { timeout: withinMs })
    .toBe(null);
  expect((await ofHost!.stakeOf(host!.address, native)).locked).toBe(0n);
});
