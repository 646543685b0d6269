/**
 * A host of a job that is proved besides (`tee+zk`), whose control plane lies or is away: what it loses is the price at most,
 * never its stake. Real proofs, a local chain whose clock is turned on; the enclave's key and seal are made here.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CollateralError, keccak, to0x, toHex, utf8 } from '#attestation/base';
import {
  bordersRoot,
  ciphertextDigest,
  deliveryDigest,
  encodeJobSpec,
  encodeTerms,
  JobMode,
  keyCommitment,
  runKeysDigest,
  specDigestOf,
  type Terms,
} from '#attestation/records';
import { pattern } from '#libs/wire';
import { collectEscrow, handOver, tellStopped, type HandOverParts } from '../../apps/host-agent/src/hand-over.js';
import { openPendingEscrows, type PendingEscrows, type PendingResult } from '../../apps/host-agent/src/pending.js';
import { createProvider, type Provider } from '../../apps/host-agent/src/provider.js';
import type { HostSettings } from '../../apps/host-agent/src/settings.js';
import {
  duties,
  engage,
  marketTerms,
  openMarket,
  sealedRun,
  walletOf,
  window,
  type Market,
} from '../support/escrow-market.js';
import { proofFilesOf, provableJob, trainRun, type ProvableJob, type TrainedRun } from '../support/provable-run.js';
import { lookUntilBelieved, turnSteadyTime } from '../support/steady-time.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const segments = 2;
const node = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';
const ciphertext = utf8('a result');
const revealKey = keccak(utf8('test key of a result'));
const delivery = deliveryDigest(ciphertextDigest(ciphertext), keyCommitment(revealKey));
const account = { timings: {}, transactions: [] };
const away = new CollateralError('CONTROL_PLANE_UNREACHABLE', { expected: 'an answer', got: 'none', rule: 'test' });

let folder: string;
let market: Market;
let provider: Provider;
let pending: PendingEscrows;
let job: ProvableJob;
let run: TrainedRun;
let terms: Terms;
let held: PendingResult;
/** What the control plane says of proofs; null: nobody answers it anything. */
let answers: object[] | null;
/** The chain and this machine go on by as much. */
let pass: (seconds: number) => Promise<void>;
const blobs = new Map<string, Uint8Array>();
const parts = (): HandOverParts => ({
  ...{ pending, provider },
  controlPlane: {
    async send(name) {
      if (answers === null) throw away;
      if (name !== pattern.proofAcquire) return {};
      return answers.shift() ?? { task: null, elsewhere: null, left: 0 };
    },
    close: () => undefined,
  },
  store: {
    getBlob: (name: string) => Promise.resolve(blobs.get(name)!),
    putBlob: () => Promise.resolve(to0x(ciphertextDigest(ciphertext))),
  } as never,
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-proved-host-'));
  market = await openMarket();
  pending = openPendingEscrows(folder);
  const { anvil, deployment } = market;
  const settings = {
    chain: { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 },
    providerSecret: walletOf('provider').privateKey,
    ...{ escrow: { stakeMaxWei: 0n }, attestors: {}, snpPolicies: new Map() },
  };
  provider = createProvider(settings as unknown as HostSettings, pending);
  job = provableJob(deployment, 'separate', segments);
  run = trainRun(job);
  terms = marketTerms({
    ...{ mode: JobMode.tee | JobMode.full | JobMode.reveal, specDigest: specDigestOf(job.spec), segments },
    ...{ initialWeights: job.prepared.genesisDigest, windows: { ...duties, reveal: window, ack: window } },
  });
  await engage(market, terms);
  held = resultOf(run.borders, 0);
  pending.save(held);
  answers = [];
  const wait = turnSteadyTime();
  await lookUntilBelieved(() => provider.collect(held), wait);
  pass = (seconds) => {
    wait(seconds);
    return market.pass(seconds);
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  provider?.close();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As its disk has it when the enclave has sealed. */
function resultOf(borders: readonly Uint8Array[], outcome: 0 | 1): PendingResult {
  const delivered = outcome === 0 ? delivery : new Uint8Array(32);
  const { keys, seal } = sealedRun(market, terms, borders, { delivery: delivered, outcome });
  return {
    ...{ version: 2, jobId: job.jobId, lease: { leaseId: 'lease', fence: 1 }, terms: encodeTerms(terms) },
    ...{ spec: encodeJobSpec(job.spec), brokerUrl: 'http://127.0.0.1:9', key: keys[0]!, told: false, stored: true },
    receipts: [],
    result: {
      ...{ ciphertext, revealKey, borders: [...borders], keys: [...keys], seal },
      run: {
        ...{ upTo: borders.length - 1, outcome, bordersRoot: bordersRoot(borders), last: borders.at(-1)! },
        ...{ delivery: delivered, keys: runKeysDigest(keys) },
      },
    },
  };
}

/** The answer with a proof that another node brought. */
function brought(index: number, as = index) {
  const { bundle, document } = proofFilesOf(job, market.as('provider'), terms, run, index);
  const blob = to0x(keccak(bundle));
  blobs.set(blob, bundle);
  return { task: null, elsewhere: { index: as, blob, document }, left: 0 };
}

const collect = () => collectEscrow(toHex(job.jobId), node, parts());
const stateOf = async (): Promise<string> => (await market.as('provider').job(terms)).state;
const proved = async (): Promise<number> => (await market.as('provider').job(terms)).proved;

/** @returns what the provider has less than before, gas left aside, in wei */
async function lossOver(work: () => Promise<unknown>): Promise<bigint> {
  const before = (await market.money()).provider;
  await work();
  return before - (await market.money()).provider;
}

it('does not commit where the control plane says that nothing is left, and gives the job back with its whole stake', async () => {
  const loss = await lossOver(async () => {
    await handOver(held, Promise.resolve(held), parts(), account);
    expect(await collect()).toBe('wait');
    await pass(0.8 * window);
    expect(await collect()).toBe('wait');
    expect(await stateOf()).toBe('Started');
    await pass(0.15 * window);
    expect(await collect()).toBe('resign');
  });
  expect([await stateOf(), loss]).toEqual(['Resigned', 0n]);
});

it('the same where it is away from the delivery on', async () => {
  answers = null;
  const loss = await lossOver(async () => {
    await expect(collect()).rejects.toBe(away);
    await pass(0.8 * window);
    await expect(collect()).rejects.toBe(away);
    expect(await stateOf()).toBe('Started');
    await pass(0.15 * window);
    await expect(collect()).rejects.toBe(away);
  });
  expect([await stateOf(), loss]).toEqual(['Resigned', 0n]);
});

it('takes no proof that does not hold or is of another segment', async () => {
  const { elsewhere, ...rest } = brought(0);
  const bundle = blobs.get(elsewhere.blob)!;
  blobs.set(elsewhere.blob, bundle.with(bundle.length - 1, bundle.at(-1)! ^ 1));
  answers = [{ ...rest, elsewhere }, brought(1, 0), brought(1, 7)];
  await expect(collect()).rejects.toMatchObject({ family: 'rejection' });
  await expect(collect()).rejects.toMatchObject({ code: 'PROOF_FOREIGN' });
  expect(await collect()).toBe('wait');
  expect(pending.proofs.held(toHex(job.jobId))).toEqual([]);
});

it('commits once it has every proof, and brings them itself where control plane and provers are gone from then on', async () => {
  answers = [brought(1), brought(0)];
  const loss = await lossOver(async () => {
    await handOver(held, Promise.resolve(held), parts(), account);
    expect(await stateOf()).toBe('Started');
    expect([await collect(), await collect(), await collect()]).toEqual(['keep', 'keep', 'commit']);
    answers = null;
    pending = openPendingEscrows(folder);
    // Until the seal is safe, and a quarter of the window longer, others may bring them.
    await pass(1.2 * window);
    expect([await collect(), await proved()]).toEqual(['wait', 0]);
    await pass(0.1 * window);
    expect([await collect(), await proved()]).toEqual(['discharge', 2]);
    await pass(2);
    expect(await collect()).toBe('finalize');
  });
  expect([await stateOf(), loss]).toEqual(['Settled', -terms.price]);
});

it('gives a run back at once that cannot go on: nobody would prove what it had', async () => {
  held = resultOf(run.borders.slice(0, 2), 1);
  pending.save(held);
  const loss = await lossOver(async () => {
    await tellStopped(held, parts(), 'detail');
    expect(await collect()).toBe('resign');
  });
  expect([await stateOf(), loss]).toEqual(['Resigned', 0n]);
});
