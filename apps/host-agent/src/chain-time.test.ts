/** A host on a chain whose time is hours behind its own clock, or that makes no blocks: it reveals and commits in time. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { utf8 } from '#attestation/base';
import {
  bordersRoot,
  ciphertextDigest,
  deliveryDigest,
  encodeTerms,
  JobMode,
  keyCommitment,
  runKeysDigest,
  type Terms,
} from '#attestation/records';
import { engage, marketTerms, openMarket, sealedRun, walletOf, type Market } from '#test/escrow-market';
import { lookUntilBelieved, turnSteadyTime } from '#test/steady-time';
import { openPendingEscrows, type PendingResult } from './pending.js';
import { createProvider, type Provider } from './provider.js';
import type { HostSettings } from './settings.js';

const word = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const [start, last, revealKey] = [word(1), word(2), word(3)];
const ciphertext = utf8('a result');
const delivery = deliveryDigest(ciphertextDigest(ciphertext), keyCommitment(revealKey));
const behind = 3 * 3600;
const compute = 4000;

let market: Market;
let provider: Provider;
let terms: Terms;
let held: PendingResult;
beforeEach(async () => {
  market = await openMarket({}, Math.floor(Date.now() / 1000) - behind);
  const { anvil, deployment } = market;
  const settings = {
    chain: { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 },
    providerSecret: walletOf('provider').privateKey,
    ...{ escrow: { stakeMaxWei: 0n }, attestors: {}, snpPolicies: new Map() },
  };
  provider = createProvider(
    settings as unknown as HostSettings,
    openPendingEscrows(mkdtempSync(join(tmpdir(), 'veritrain-host-'))),
  );
  terms = marketTerms({
    ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [], initialWeights: start },
    windows: { compute, challenge: 100, ack: 100, reveal: 2000 },
  });
  await engage(market, terms);
  const { keys, seal } = sealedRun(market, terms, [start, last], { delivery });
  held = {
    ...{ version: 2, jobId: word(9), lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    ...{ brokerUrl: 'http://127.0.0.1:9', key: keys[0]!, told: false, stored: true, receipts: [] },
    result: {
      ...{ ciphertext, revealKey, borders: [start, last], keys: [...keys], seal },
      run: {
        ...{ upTo: 1, outcome: 0, bordersRoot: bordersRoot([start, last]), last, delivery },
        keys: runKeysDigest(keys),
      },
    },
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  provider?.close();
  await market?.stop();
});

const stateOf = async (): Promise<string> => (await market.as('provider').job(terms)).state;

/** The chain and this machine go on by as much. */
async function pass(seconds: number, wait: (seconds: number) => void): Promise<void> {
  wait(seconds);
  await market.pass(seconds);
}

it('reveals its key where the chain is hours behind, and not before it knows that the node is not catching up', async () => {
  const wait = turnSteadyTime();
  await provider.commit(held);
  const moves: string[] = [];
  const look = async (): Promise<void> => void moves.push(await provider.collect(held));
  await pass(101, wait);
  await lookUntilBelieved(look, wait);
  await pass(300, wait);
  await look();
  await pass(290, wait);
  await look();
  expect(new Set(moves)).toEqual(new Set(['wait']));
  await pass(60, wait);
  expect(await provider.collect(held)).toBe('finalize');
  expect(await stateOf()).toBe('Settled');
});

it('keeps its key while the node catches up', async () => {
  const wait = turnSteadyTime();
  await provider.commit(held);
  for (let minute = 0; minute < 20; minute++) {
    wait(60);
    await market.pass(90);
    expect(await provider.collect(held)).toBe('wait');
  }
});

it('commits at the last call where no block comes', async () => {
  const wait = turnSteadyTime();
  await lookUntilBelieved(async () => expect(await provider.collect(held)).toBe('wait'), wait);
  wait(0.8 * compute);
  expect(await provider.collect(held)).toBe('commit');
  expect(await stateOf()).toBe('Committed');
});
