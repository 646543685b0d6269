/** A sampled run is staked on before anybody proves it: it goes on from nothing that this node has not trained itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Rejection, to0x } from '#attestation/base';
import { dutySelectorOf, encodeJobSpec, escrowIdOf, JobMode, termsJson } from '#attestation/records';
import { pattern, type LeaseGrant } from '#libs/wire';
import { chainId, contract, provider, tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import type { Border } from '../compute/train.js';
import { openKeptJobs } from './kept-jobs.js';
import { openKeptWitness, type KeptWitness } from './kept-witness.js';
import type { NodeParts } from './parts.js';
import { runLease } from './training-lease.js';

vi.mock('./contract-floor.js', () => ({ checkFloor: () => Promise.resolve() }));
vi.mock('./offered-job.js', async (original) => ({
  ...(await original<object>()),
  entrust: (offer: object) => Promise.resolve({ ...offer, release: {} }),
  openInput: () => Promise.resolve({ input: {} }),
}));

const segments = 3;
const segmentSteps = 4;
const windows = {
  ...{ start: 3600, compute: 3600, finality: 60, draw: 3600, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 0, ack: 0, drawBlocks: 2000 },
};
/** Stands for the border with this number. */
const borderAt = (index: number): Border => ({
  ...{ index, step: index * segmentSteps },
  ...{ statement: Uint8Array.of(index), checkpoint: Uint8Array.of(index) },
});
const damaged = new Rejection('CHECKPOINT_AUTHENTICATION', { expected: 'a checkpoint', got: 'none', rule: 'test' });
const foreign = Uint8Array.of(1, 0xff);

let folder: string;
let grant: LeaseGrant;
let witness: KeptWitness;
let jobId: string;
beforeAll(async () => {
  const manifest = tinyManifest({ steps: segments * segmentSteps, superblock: 4 });
  const { spec, terms, ...job } = await tinyJob({
    ...{ manifest, dataset: await tinyDataset(manifest, { proving: 'chain1' }), segmentSteps },
    spec: { assurance: 'sampled' },
    terms: {
      ...{ mode: JobMode.sample, samples: 1, dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })], windows },
      ...{ token: new Uint8Array(20), price: 10n, stake: 5n, liveness: 1n },
    },
  });
  jobId = to0x(job.jobId);
  const offered = {
    ...{ jobId, escrowId: to0x(escrowIdOf(terms)), brokerUrl: 'http://127.0.0.1:9', policy: '' },
    ...{ spec: Buffer.from(encodeJobSpec(spec)).toString('base64'), terms: termsJson(terms), datasetManifest: {} },
    resume: { blob: 'foreign', step: 2 * segmentSteps, receipts: [] },
  };
  grant = {
    leaseId: '11111111-1111-4111-8111-111111111111',
    fence: 2,
    expiresAt: 1,
    job: offered,
  } as unknown as LeaseGrant;
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-sampled-lease-'));
  witness = openKeptWitness(folder, new Uint8Array(32).fill(3));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** @returns the checkpoints that the computing process was told to go on from, and the steps of which the control plane heard */
async function worked() {
  const from: (Uint8Array | null)[] = [];
  const told: number[] = [];
  const train = async (checkpoint: Uint8Array | null, onBorder: (border: Border) => void) => {
    from.push(checkpoint);
    if (checkpoint?.length === 0) throw damaged;
    for (let index = 1 + (checkpoint?.[0] ?? 0); index <= segments; index++) onBorder(borderAt(index));
    return { borders: Array.from({ length: segments + 1 }, () => new Uint8Array(32)), result: foreign };
  };
  const send = async (name: string, { step }: { step: number }) => {
    if (name === pattern.leaseCheckpoint) told.push(step);
    return {};
  };
  const settings = {
    ...{ chain: { deployment: { chainId, settlement: to0x(contract) } }, memoryMiB: 4096, proves: true },
    escrow: {
      ...{ windowMaxSeconds: 86_400, computeMaxSeconds: 86_400, proofSeconds: 60, answerMinWei: 0n, tokens: [] },
      ...{ priceMinWei: 1n, stakeMaxWei: 5n, computeMinSeconds: 60, proveMinSeconds: 60, multiplyAddsPerSecond: 1e9 },
    },
  };
  const kept = openKeptJobs(folder);
  const parts = {
    ...{ settings, kept, witness, controlPlane: { send } },
    escrow: { account: provider, engage: async () => [] },
    jobProcess: { at: async () => ({ segments, train }) },
    store: { getBlob: async () => foreign, putBlob: async () => to0x(new Uint8Array(32)) },
    watch: { event: () => undefined, failure: () => undefined },
  } as unknown as NodeParts;
  await runLease(grant, parts, new AbortController().signal);
  expect(kept.find(jobId)).toMatchObject({ borders: { length: segments + 1 } });
  return { from, told };
}

it('begins anew where the control plane hands over a checkpoint of others', async () => {
  expect(await worked()).toEqual({ from: [null], told: [4, 8, 12] });
  for (let index = 0; index < segments; index++) expect(witness.segment(jobId, index)).not.toBeNull();
});

it.each([
  { what: 'less than was told', onDisk: [1], from: 1, told: [8, 12] },
  { what: 'as much as was told', onDisk: [1, 2], from: 2, told: [12] },
  { what: 'more than was told', onDisk: [1, 2, 3], from: 2, told: [12] },
  { what: 'a gap', onDisk: [1, 3], from: 1, told: [8, 12] },
])('goes on from its own disk, which holds $what, so that the control plane hears every border', async (its) => {
  openKeptJobs(folder).open(jobId, new Uint8Array(), new Uint8Array());
  for (const index of its.onDisk) witness.keepBorder(jobId, borderAt(index));
  expect(await worked()).toEqual({ from: [Uint8Array.of(its.from)], told: its.told });
});

it('begins anew where the checkpoint on its own disk is damaged', async () => {
  openKeptJobs(folder).open(jobId, new Uint8Array(), new Uint8Array());
  witness.keepBorder(jobId, { ...borderAt(1), checkpoint: new Uint8Array() });
  expect(await worked()).toEqual({ from: [new Uint8Array(), null], told: [4, 8, 12] });
});
