/** A lease and the collection come to one escrow at once: the chain has yet to take what one of them sent. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { encodeTerms, JobMode } from '#attestation/records';
import { addressBytes } from '#libs/settlement';
import { enclaveKey, engage, marketTerms, openMarket, releaseOf, walletOf, type Market } from '#test/escrow-market';
import { lookUntilBelieved, turnSteadyTime } from '#test/steady-time';
import type { Engaged } from './engage.js';
import { openPendingEscrows, type PendingEscrow } from './pending.js';
import { createProvider, type Provider } from './provider.js';
import type { HostSettings } from './settings.js';

const compute = 4000;
let market: Market;
let provider: Provider;
beforeEach(async () => {
  market = await openMarket();
  const settings = {
    chain: { rpcUrl: market.anvil.url, deployment: market.deployment, pollingMs: 20, confirmations: 1 },
    providerSecret: walletOf('provider').privateKey,
    ...{ escrow: { stakeMaxWei: 0n, tokens: [] }, attestors: {}, snpPolicies: new Map() },
  };
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-host-'));
  provider = createProvider(settings as unknown as HostSettings, openPendingEscrows(folder));
});
afterEach(async () => {
  vi.restoreAllMocks();
  provider?.close();
  await market?.stop();
});

const ordered = () =>
  marketTerms({
    ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [] },
    windows: { compute, challenge: 100, ack: 100, reveal: 2000 },
  });

it('a lease of a job whose resignation is on its way waits for it, and is refused', async () => {
  const terms = ordered();
  await engage(market, terms);
  const held: PendingEscrow = {
    ...{ version: 2, jobId: terms.specDigest, lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    ...{ brokerUrl: 'http://127.0.0.1:9', key: addressBytes(enclaveKey.address), result: null },
    ...{ told: false, stored: false, receipts: [] },
  };
  const wait = turnSteadyTime();
  await lookUntilBelieved(async () => expect(await provider.collect(held)).toBe('wait'), wait);
  wait(0.8 * compute);
  await market.pass(0.8 * compute);
  await market.chain.send('evm_setAutomine', [false]);
  const collected = provider.collect(held);
  const sent = async () =>
    Number(await market.chain.send('eth_getTransactionCount', [walletOf('provider').address, 'pending']));
  const before = await market.chain.getTransactionCount(walletOf('provider').address);
  await vi.waitFor(async () => expect(await sent()).toBe(before + 1), { timeout: 20_000 });
  const { release, signature } = releaseOf(market, terms, enclaveKey);
  const session = { release, releaseSignature: signature, appraisals: [] } as unknown as Engaged;
  const [hasStarted, engaged] = [provider.hasStarted(terms), provider.engage(terms, session)];
  for (const asked of [hasStarted, engaged]) asked.catch(() => undefined);
  // Time enough to be answered by the chain of before.
  await sleep(1000);
  await market.chain.send('evm_mine', []);
  expect(await collected).toBe('resign');
  await expect(hasStarted).rejects.toMatchObject({ code: 'HOST_ESCROW_ENDED' });
  await expect(engaged).rejects.toMatchObject({ code: 'HOST_ESCROW_ENDED' });
});

it('the stake that stays is told by what is free and what a job holds', async () => {
  const token = `0x${'00'.repeat(20)}`;
  expect(await provider.keptStake()).toEqual([{ token, free: 0n, locked: 0n }]);
  const terms = ordered();
  await engage(market, terms);
  await market.as('provider').stakeUpTo(terms.token, 5n);
  expect(await provider.keptStake()).toEqual([{ token, free: 5n, locked: terms.stake }]);
});
