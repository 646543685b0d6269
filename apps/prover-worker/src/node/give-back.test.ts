/** A job that goes back to its client takes no run along: the price would be paid back, and the model had for nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { fromHex, keccak, to0x } from '#attestation/base';
import { dutySelectorOf, encodeJobSpec, encodeTerms, escrowIdOf, JobMode, termsJson } from '#attestation/records';
import type { Terms } from '#attestation/records';
import { addressBytes } from '#libs/settlement';
import { pattern, type LeaseGrant } from '#libs/wire';
import { openMarket, releaseOf, seedClient, walletOf, type Market } from '#test/escrow-market';
import { lookUntilBelieved, turnSteadyTime } from '#test/steady-time';
import { tinyDataset, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { openEscrow } from './escrow.js';
import { drawSeed } from './draw.js';
import { openKeptJobs, type KeptJobs } from './kept-jobs.js';
import type { NodeParts } from './parts.js';
import type { ProverSettings } from './settings.js';
import { runLease } from './training-lease.js';

vi.mock('./contract-floor.js', () => ({ checkFloor: () => Promise.resolve() }));
vi.mock('./offered-job.js', async (original) => ({
  ...(await original<object>()),
  entrust: (offer: object) => Promise.resolve({ ...offer, release: signedRelease() }),
  openInput: () => Promise.resolve({ input: {} }),
}));

const segments = 2;
const accountSecret = fromHex(walletOf('provider').privateKey);
const windows = {
  ...{ start: 3600, compute: 7200, finality: 60, draw: 3600, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 0, ack: 0, drawBlocks: 2000 },
};
const account = (role: 'client' | 'provider' | 'broker') => addressBytes(walletOf(role).address);

let market: Market;
let job: TinyJob;
let terms: Terms;
let jobId: string;
let folder: string;
let kept: KeptJobs;
let escrow: ReturnType<typeof openEscrow>;
let wait: ReturnType<typeof turnSteadyTime>;
let salt = 0;
beforeAll(async () => {
  market = await openMarket();
  const { chainId, settlement } = market.deployment;
  const manifest = tinyManifest({ steps: 4 * segments, superblock: 4 });
  job = await tinyJob({
    ...{ manifest, dataset: await tinyDataset(manifest, { proving: 'chain1' }), segmentSteps: 4 },
    spec: { assurance: 'sampled', settlement: { chainId, contract: addressBytes(settlement) } },
    terms: {
      ...{ mode: JobMode.sample, samples: 1, dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })], windows },
      ...{ client: account('client'), provider: account('provider'), keyBroker: account('broker') },
      ...{ token: new Uint8Array(20), price: 10n ** 18n, stake: 6n * 10n ** 17n, liveness: 10n ** 17n },
      seedCommitClient: keccak(seedClient),
    },
  });
  jobId = to0x(job.jobId);
}, 300_000);
afterAll(() => market?.stop());
beforeEach(async () => {
  wait = turnSteadyTime();
  folder = mkdtempSync(join(tmpdir(), 'veritrain-give-back-'));
  terms = { ...job.terms, acceptBy: Math.floor(Date.now() / 1000) + 2 * 3600 * ++salt };
  kept = openKeptJobs(folder);
  escrow = openEscrow(settings(), kept);
  await market.as('client').open(terms);
});
afterEach(() => {
  vi.restoreAllMocks();
  escrow.close();
  rmSync(folder, { recursive: true, force: true });
});

function settings(): ProverSettings {
  const { anvil, deployment } = market;
  return {
    chain: { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 },
    ...{ accountSecret, memoryMiB: 4096, proves: true },
    escrow: {
      ...{ windowMaxSeconds: 86_400, computeMaxSeconds: 86_400, proofSeconds: 60, answerMinWei: 0n, tokens: [] },
      ...{ priceMinWei: 1n, stakeMaxWei: 10n ** 18n, computeMinSeconds: 60, proveMinSeconds: 60 },
      multiplyAddsPerSecond: 1e9,
    },
  } as unknown as ProverSettings;
}

const signedRelease = () => {
  const { release, signature } = releaseOf(market, terms, null);
  return { release, releaseSignature: signature };
};
const state = async () => (await market.as('provider').job(terms)).state;
/** From here on a job without a run is given back, for the time of the chain is believed. */
async function lastMoment(): Promise<void> {
  await lookUntilBelieved(() => escrow.collect(kept.find(jobId)!), wait);
  await market.pass(0.95 * windows.compute);
  wait(0.95 * windows.compute);
}
const run = () => [
  terms.initialWeights,
  ...Array.from({ length: segments }, (_, at) => new Uint8Array(32).fill(at + 1)),
];
const keepDelivery = () => kept.keepDelivery(jobId, { borders: run().map(to0x) } as never);

it.each([
  { end: 'was taken', come: () => (keepDelivery(), kept.closeDelivery(jobId, 'taken')) },
  { end: 'was refused', come: () => (keepDelivery(), kept.closeDelivery(jobId, 'refused')) },
  { end: 'has no next step', come: () => kept.keepStopped(jobId, run().slice(0, 2)) },
])('a run that $end while the chain was asked is committed', async ({ come }) => {
  await market.as('provider').accept(terms, keccak(drawSeed(accountSecret, terms)));
  await market.as('provider').start(terms, releaseOf(market, terms, null));
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  kept.markStaked(jobId);
  await lastMoment();
  const before = kept.find(jobId)!;
  come();
  expect(await escrow.collect(before)).toBe('wait');
  expect(await escrow.collect(kept.find(jobId)!)).toBe('commit');
});

/** @param train what the computing process does, up to the run's end @returns what the control plane is told */
async function workOn(train: () => Promise<object>): Promise<unknown[]> {
  const told: unknown[] = [];
  const send = async (name: string, { code }: { code?: string }) => void told.push(code ?? name);
  const parts = {
    ...{ settings: settings(), kept, escrow, controlPlane: { send } },
    witness: { checkRoom: () => undefined, keepInput: async () => undefined, isWhole: () => true },
    jobProcess: { at: async () => ({ segments, train }) },
    store: { putBlob: async () => to0x(new Uint8Array(32)) },
    watch: { event: () => undefined, failure: () => undefined },
  } as unknown as NodeParts;
  const offered = {
    ...{ jobId, escrowId: to0x(escrowIdOf(terms)), brokerUrl: 'http://127.0.0.1:9', policy: '' },
    ...{ spec: Buffer.from(encodeJobSpec(job.spec)).toString('base64'), terms: termsJson(terms), resume: null },
  };
  const lease = { leaseId: '11111111-1111-4111-8111-111111111111', fence: 1, expiresAt: 1, job: offered };
  await runLease(lease as unknown as LeaseGrant, parts, new AbortController().signal);
  return told;
}

it.each([
  { end: 'is done', upTo: segments, stopped: {} },
  { end: 'has no next step', upTo: 1, stopped: { stopped: { step: 4, tensor: 'w', detail: 'too large' } } },
])('a run that $end after its job was given back is told to nobody', async ({ upTo, stopped }) => {
  let collected: Promise<string> | undefined;
  const train = async () => {
    await lastMoment();
    // A lease that the control plane hands out meanwhile hears nothing of it.
    await new Promise<void>((letGo) => {
      collected = escrow.collect(kept.find(jobId)!, letGo);
    });
    return { borders: run().slice(0, upTo + 1), result: new Uint8Array(1), ...stopped };
  };
  const told = await workOn(train);
  expect(await collected).toBe('resign');
  expect(await state()).toBe('Resigned');
  // Of the lease it is told that it is over: nobody waits for it until it expires.
  expect(told).toEqual([pattern.leaseEntrusted, pattern.leaseRunning, 'LEASE_GIVEN_BACK']);
  expect(kept.find(jobId)).toMatchObject({ borders: null, delivery: null });
});

it('a job whose resignation the chain has yet to take is refused before anything is asked for it', async () => {
  await market.as('provider').accept(terms, keccak(drawSeed(accountSecret, terms)));
  await market.as('provider').start(terms, releaseOf(market, terms, null));
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  kept.markStaked(jobId);
  kept.markGivenBack(jobId);
  const train = vi.fn();
  expect(await workOn(train)).toEqual(['LEASE_GIVEN_BACK']);
  expect(train).not.toHaveBeenCalled();
});
