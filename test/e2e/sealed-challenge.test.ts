/**
 * A sealed run of a job that proofs may finish instead (`--on-lapse zk`): nobody has proofs of it, so a challenge that
 * anybody can pay takes an honest host's stake, and one whose seal is taken away keeps it locked until somebody ends it. A local chain whose clock is turned on; the enclave's key and seal are made here.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keccak, to0x, toHex, utf8 } from '#attestation/base';
import { bordersRoot, encodeTerms, jobIdOf, runKeysDigest, type Terms } from '#attestation/records';
import { termsFor } from '#libs/client';
import { addressBytes, finalFrom, sendRoleCall } from '#libs/settlement';
import {
  enclaveKey,
  engage,
  native,
  openMarket,
  revokeKey,
  sealedRun,
  walletOf,
  window,
  type Market,
  type Role,
} from '#test/escrow-market';
import { lookUntilBelieved, turnSteadyTime } from '#test/steady-time';
import { tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import { collectEscrow, type HandOverParts } from '../../apps/host-agent/src/hand-over.js';
import { openPendingEscrows, type PendingEscrows, type PendingResult } from '../../apps/host-agent/src/pending.js';
import { createProvider, type Provider } from '../../apps/host-agent/src/provider.js';
import type { HostSettings } from '../../apps/host-agent/src/settings.js';

const manifest = tinyManifest({ steps: 12, superblock: 4 });
const dataset = await tinyDataset(manifest, { proving: 'fast16' });
const { spec } = await tinyJob({ manifest, dataset, segmentSteps: 4 });
const job = toHex(jobIdOf(spec));
const price = 10n ** 18n;

let folder: string;
let market: Market;
let provider: Provider;
let pending: PendingEscrows;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-sealed-challenge-'));
  market = await openMarket();
  pending = openPendingEscrows(folder);
  const { anvil, deployment } = market;
  const settings = {
    chain: { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 },
    providerSecret: walletOf('provider').privateKey,
    ...{ escrow: { stakeMaxWei: 0n }, attestors: {}, snpPolicies: new Map() },
  };
  provider = createProvider(settings as unknown as HostSettings, pending);
});
afterEach(async () => {
  vi.restoreAllMocks();
  provider?.close();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As `job submit --on-lapse zk` makes them; with time to challenge, which a local chain leaves nobody. */
function ordered(): Terms {
  const of = (role: Role): string => walletOf(role).address;
  const named = { client: addressBytes(of('client')), provider: of('provider'), keyBroker: of('broker') };
  const order = { rewardWei: price, onLapse: 'zk', samples: 2, kind: 'local', publishWei: 1n } as const;
  const { terms } = termsFor(spec, manifest, named, order);
  return { ...terms, windows: { ...terms.windows, challenge: window } };
}

/** A control plane that takes everything and, as it does for such a job, has no proof. */
const parts = (): HandOverParts => ({
  ...{ pending, provider },
  controlPlane: { send: () => Promise.resolve({}), close: () => undefined },
  store: { putBlob: () => Promise.resolve('') } as never,
});
const collect = () => collectEscrow(job, '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', parts());

/** From the order to the honest run on chain, by the host's own steps. */
async function committed(terms: Terms): Promise<void> {
  await engage(market, terms);
  const borders = [terms.initialWeights, ...['a', 'b', 'c'].map((name) => keccak(utf8(name)))];
  const { keys, seal } = sealedRun(market, terms, borders);
  const held: PendingResult = {
    ...{ version: 2, jobId: jobIdOf(spec), lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    ...{ brokerUrl: 'http://127.0.0.1:9', key: keys[0]!, told: true, stored: true, receipts: [] },
    result: {
      ...{ ciphertext: utf8('a result'), revealKey: keccak(utf8('key')), borders, keys: [...keys], seal },
      run: {
        ...{ upTo: 3, outcome: 0, bordersRoot: bordersRoot(borders), last: borders.at(-1)! },
        ...{ delivery: new Uint8Array(32), keys: runKeysDigest(keys) },
      },
    },
  };
  pending.save(held);
  expect(await collect()).toBe('commit');
}

const stateOf = async (terms: Terms): Promise<string> => (await market.as('provider').job(terms)).state;

it('would cost an honest host its stake, and pay whoever challenged, at a bond within reach', async () => {
  const terms = { ...ordered(), bond: price / 10n };
  await committed(terms);
  const before = await market.money();
  const { duties } = market.as('challenger');
  await duties.challenge(terms, 1);
  const { windows } = terms;
  await market.pass(windows.challenge + windows.prove + windows.provePer + 1);
  expect(await collect()).toBe('wait');
  await duties.lapse(terms, 1);
  expect(await stateOf(terms)).toBe('Slashed');
  const after = await market.money();
  expect(after.provider - before.provider).toBe(-terms.stake);
  expect(after.challenger - before.challenger).toBe(terms.stake / 3n + terms.bond);
});

it('takes no challenge under the terms that the client makes, and is paid on its seal', async () => {
  const terms = ordered();
  await committed(terms);
  const { duties } = market.as('challenger');
  await expect(duties.challenge(terms, 1)).rejects.toMatchObject({ code: 'CHAIN_FUNDS' });
  await market.pass(finalFrom(terms, await market.as('provider').job(terms)) + 1 - Math.floor(Date.now() / 1000));
  expect(await collect()).toBe('finalize');
  expect(await stateOf(terms)).toBe('Settled');
});

describe('a run whose seal was taken away, which nobody has proved', () => {
  async function unsealed(terms: Terms): Promise<void> {
    await committed(terms);
    await revokeKey(market, terms);
    await market.as('client').keys.unseal(terms, addressBytes(enclaveKey.address));
    expect(await market.as('provider').job(terms)).toMatchObject({ state: 'Committed', dueByUnseal: true });
  }
  /** @returns seconds until the last in which a proof is taken */
  const proofsLeft = async (terms: Terms): Promise<number> => {
    const { timestamp } = (await market.chain.getBlock('latest'))!;
    return (await market.as('provider').job(terms)).setDeadline - timestamp;
  };

  it('is ended by the host when the time of its proofs is over, and the stake comes back', async () => {
    const terms = ordered();
    await unsealed(terms);
    await market.pass((await proofsLeft(terms)) - 1);
    expect(await collect()).toBe('wait');
    await market.pass(2);
    expect(await collect()).toBe('lapse');
    expect(await stateOf(terms)).toBe('Unsealed');
    expect(await collect()).toBe('end');
    const { address } = walletOf('provider');
    expect(await market.as('provider').stakeOf(address, native)).toEqual({ free: 0n, locked: 0n });
    expect(await market.as('client').creditOf(walletOf('client').address, native)).toBe(terms.price);
    expect(pending.find(job)).toBe(null);
  });

  it('is voided by the host where no verifier is left, and the stake comes back', async () => {
    const terms = ordered();
    await unsealed(terms);
    const { deployment } = market;
    const guardian = walletOf('deployer').connect(market.chain);
    await sendRoleCall(guardian, deployment, { call: 'tombstone', selector: to0x(terms.dutySelectors[0]!) });
    await market.pass((await proofsLeft(terms)) + 1);
    expect(await collect()).toBe('lapse');
    expect(await stateOf(terms)).toBe('Voided');
  });
});

it('a job without a run, of its enclave or of a prover, is given back in the last sixteenth, and the stake comes back', async () => {
  const terms = ordered();
  await engage(market, terms);
  pending.save({
    ...{ version: 2, jobId: jobIdOf(spec), lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    ...{ brokerUrl: 'http://127.0.0.1:9', key: addressBytes(enclaveKey.address), result: null },
    ...{ told: false, stored: false, receipts: [] },
  });
  const wait = turnSteadyTime();
  await lookUntilBelieved(collect, wait);
  const pass = async (seconds: number): Promise<void> => {
    wait(seconds);
    await market.pass(seconds);
  };
  const { compute } = terms.windows;
  // A prover that goes on from the enclave's checkpoint has until then.
  await pass(0.9 * compute);
  expect(await collect()).toBe('wait');
  await pass(0.05 * compute);
  expect(await collect()).toBe('resign');
  expect(await stateOf(terms)).toBe('Resigned');
  expect(await collect()).toBe('end');
  const { address } = walletOf('provider');
  expect(await market.as('provider').stakeOf(address, native)).toEqual({ free: 0n, locked: 0n });
  expect(await market.as('client').creditOf(walletOf('client').address, native)).toBe(terms.price);
});
