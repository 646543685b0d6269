/** Segments that this node's stake is on: proved of its own run alone, whatever others hand over and whatever becomes of its disk. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { concatBytes, Rejection, to0x, toBase64 } from '#attestation/base';
import {
  datasetManifestJson,
  encodeJobSpec,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  JobMode,
  parseStepStatement,
  termsJson,
} from '#attestation/records';
import { pattern, type ProofTask } from '#libs/wire';
import { tinyJob, tinyManifest } from '#test/tiny-job';
import type { ProofRequest } from '../compute/prove.js';
import type { Border } from '../compute/train.js';
import type { Due } from './draw.js';
import { openDrawnProofs } from './drawn-proofs.js';
import { openKeptJobs, type KeptJobs } from './kept-jobs.js';
import { openKeptWitness } from './kept-witness.js';
import type { OfferedJob } from './offered-job.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';
import { runLease } from './training-lease.js';

const offered = vi.hoisted(() => ({ offer: {} as object }));
vi.mock('./contract-floor.js', () => ({ checkFloor: () => Promise.resolve() }));
vi.mock('./offered-job.js', () => ({
  ...{ readOffer: () => offered.offer, checkTerms: () => undefined },
  entrust: (offer: object) => Promise.resolve({ ...offer, release: {} }),
  openInput: () => Promise.resolve({ input: {} }),
}));
// A bundle here is the weights before and after, as `prove` below makes it.
vi.mock('#libs/proof', async (original) => ({
  ...(await original<object>()),
  verifyBundledProofUnder:
    () =>
    (_job: unknown, _index: number, { bytes }: { bytes: Uint8Array }) => ({
      statement: { weightsBefore: bytes.slice(0, 32), weightsAfter: bytes.slice(32) },
    }),
}));

const weights = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const borders = [weights(1), weights(2), weights(3)];
const segments = borders.length - 1;
/** "This segment changed nothing": what the owner of the data key can hand over, with a checkpoint that agrees. */
const stalled = { weightsBefore: weights(2), weightsAfter: weights(2) };
const stalledBundle = concatBytes(weights(2), weights(2));
const { signal } = new AbortController();

let folder: string;
let kept: KeptJobs;
let jobId: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-staked-segments-'));
  kept = openKeptJobs(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openOffer(assurance: 'sampled' | 'zk'): Promise<OfferedJob> {
  const mode = assurance === 'zk' ? JobMode.full : JobMode.sample;
  const manifest = tinyManifest({ steps: 4 * segments, superblock: 4 });
  const { spec, terms, ...tiny } = await tinyJob({ manifest, segmentSteps: 4, spec: { assurance }, terms: { mode } });
  const specBytes = encodeJobSpec(spec);
  jobId = to0x(tiny.jobId);
  const job = {
    ...{ jobId, escrowId: to0x(escrowIdOf(terms)), spec: toBase64(specBytes), terms: termsJson(terms), resume: null },
    ...{ policy: '', brokerUrl: 'http://127.0.0.1:9', datasetManifest: datasetManifestJson(tiny.dataset.manifest) },
  };
  const offer = { jobId, spec, terms, specBytes, job, proofSeconds: 600 };
  offered.offer = offer;
  return offer as unknown as OfferedJob;
}

const ofRun = (index: number) => ({ weightsBefore: borders[index]!, weightsAfter: borders[index + 1]! });

function statementOf(index: number, moved: ReturnType<typeof ofRun> = ofRun(index)): Uint8Array {
  const zero = new Uint8Array(32);
  const of = { jobId: zero, programDigest: zero, datasetRoot: zero, stepFrom: 4 * index, stepCount: 4 };
  return encodeStepStatement({ ...of, ...moved });
}

function taskOf({ job }: OfferedJob, index: number, statement = statementOf(index)): ProofTask {
  return { jobId, index, fence: 1, expiresAt: 1, job, statement: toBase64(statement), checkpoint: null };
}

const borderAt = (index: number): Border => ({
  ...{ index, step: 4 * index, statement: statementOf(index - 1), checkpoint: Uint8Array.of(index) },
});

const damagedCheckpoint = new Rejection('CHECKPOINT_AUTHENTICATION', {
  ...{ expected: 'a checkpoint', got: 'another', rule: 'test' },
});

const compute = {
  segments,
  async train(_: unknown, onBorder: (border: Border) => void) {
    for (let index = 1; index <= segments; index++) onBorder(borderAt(index));
    return { borders, result: Uint8Array.of(1) };
  },
  async prove({ statement, checkpoint }: ProofRequest) {
    if (checkpoint !== null && checkpoint.length !== 1) throw damagedCheckpoint;
    const { weightsBefore, weightsAfter } = parseStepStatement(statement);
    return { bundle: concatBytes(weightsBefore, weightsAfter), document: '{}' };
  },
};

/**
 * @param tasks that the control plane hands out, one after the other, as long as one is left that the node does not hold
 * @param proved segment of which it hands out another node's proof
 */
function nodeOf(tasks: readonly ProofTask[], due: Partial<Due> = {}, proved: number | null = null) {
  const left = [...tasks];
  const refused: unknown[] = [];
  const send = async (name: string, said: { holding?: readonly number[]; code?: string }) => {
    if (name === pattern.proofFail || name === pattern.leaseFail) refused.push(said.code);
    if (name === pattern.proofProgress) return { held: true };
    if (name !== pattern.proofAcquire) return {};
    const at = left.findIndex(({ index }) => !said.holding!.includes(index));
    const [task] = at < 0 ? [] : left.splice(at, 1);
    const elsewhere = proved === null ? null : { index: proved, blob: to0x(weights(proved)), document: '{}' };
    return { task: task ?? null, elsewhere, left: left.length };
  };
  const owed = { segments: [1], owed: [1], isOpen: true, isUrgent: false, ...due };
  const settings = { escrow: { proofSeconds: 600 }, proves: true };
  const parts = {
    ...{ settings, nodeId: '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', leaseSeconds: 60, kept, controlPlane: { send } },
    witness: openKeptWitness(folder, new Uint8Array(32)),
    escrow: { engage: async () => [], due: async () => owed },
    jobProcess: {
      at: async (_: string, open: () => Promise<unknown>) => (await open(), compute),
      logged: () => undefined,
      clear: () => undefined,
    },
    store: { getBlob: async () => bundleOf(proved ?? 0)[1], putBlob: async () => to0x(weights(0)) },
    watch: { event: () => undefined, failure: () => undefined },
  } as unknown as NodeParts;
  return { parts, refused };
}

const keepStalled = ({ specBytes, terms }: OfferedJob): void => {
  kept.open(jobId, specBytes, encodeTerms(terms));
  const claim = { nodeId: '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c', jobId, index: 1, fence: 1 };
  kept.keepProof({ claim, bundle: stalledBundle, document: '{}' });
  kept.markTold(jobId, 1);
};

/** A sampled run that the control plane has taken. */
async function keepRun({ specBytes, terms }: OfferedJob, { witness }: NodeParts): Promise<void> {
  kept.open(jobId, specBytes, encodeTerms(terms));
  await witness.keepInput(jobId, { input: {} } as never);
  for (const index of [1, 2]) witness.keepBorder(jobId, borderAt(index));
  kept.keepDelivery(jobId, { borders: borders.map(to0x) } as never);
  kept.closeDelivery(jobId, 'taken');
}

const bundles = () => kept.find(jobId)!.proofs.map((index) => [index, kept.proof(jobId, index)!.bundle]);
const bundleOf = (index: number) => [index, concatBytes(borders[index]!, borders[index + 1]!)] as const;

it('WITNESS_FOREIGN: proves of what was drawn of its run no witness that is of another', async () => {
  const offer = await openOffer('sampled');
  const { parts, refused } = nodeOf([taskOf(offer, 1, statementOf(1, stalled))]);
  await keepRun(offer, parts);
  expect(await openDrawnProofs(parts, runProof).proveNext(signal)).toBe('proved');
  expect([bundles(), refused]).toEqual([[], ['WITNESS_FOREIGN']]);
  const honest = nodeOf([taskOf(offer, 1)]);
  expect(await openDrawnProofs(honest.parts, runProof).proveNext(signal)).toBe('proved');
  expect([bundles(), honest.refused]).toEqual([[bundleOf(1)], []]);
});

it("keeps of another node's proofs those of what was drawn, and no more", async () => {
  const offer = await openOffer('sampled');
  for (const [index, expected] of [
    [0, []],
    [1, [bundleOf(1)]],
  ] as const) {
    const { parts } = nodeOf([], {}, index);
    await keepRun(offer, parts);
    await openDrawnProofs(parts, runProof).proveNext(signal);
    expect(bundles()).toEqual(expected);
  }
});

it('makes a proof again that it kept of another run before it trained its own', async () => {
  const offer = await openOffer('sampled');
  const { parts } = nodeOf([], { isUrgent: true });
  keepStalled(offer);
  await keepRun(offer, parts);
  const drawn = openDrawnProofs(parts, runProof);
  expect(await drawn.proveNext(signal)).toBe('proved');
  expect(bundles()).toEqual([bundleOf(1)]);
  expect(kept.find(jobId)!.told).toEqual([]);
  await drawn.proveNext(signal);
  expect(bundles()).toEqual([bundleOf(1)]);
});

it('delivers a run that is proved whole with proofs of that run alone', async () => {
  const offer = await openOffer('zk');
  keepStalled(offer);
  const { parts, refused } = nodeOf([taskOf(offer, 1, statementOf(1, stalled)), taskOf(offer, 0), taskOf(offer, 1)]);
  const lease = { leaseId: '11111111-1111-4111-8111-111111111111', fence: 1, expiresAt: 1 };
  const began = performance.now();
  await runLease({ ...lease, job: offer.job }, parts, signal);
  // As often as it is handed out, and not as fast as this machine can refuse it.
  expect(performance.now() - began).toBeGreaterThan(1000);
  expect(refused).toEqual(['WITNESS_FOREIGN']);
  expect(bundles()).toEqual([bundleOf(0), bundleOf(1)]);
  expect(kept.find(jobId)!.borders).toEqual(borders);
});

it.each([
  { what: 'its statement is gone', spoil: (file: (name: string) => string) => rmSync(file('border-2.statement')) },
  { what: 'its statement is damaged', spoil: (file) => writeFileSync(file('border-2.statement'), '') },
  { what: 'its checkpoint is gone', spoil: (file) => rmSync(file('border-1.checkpoint')) },
  { what: 'its checkpoint is damaged', spoil: (file) => writeFileSync(file('border-1.checkpoint'), '') },
])('trains its run again to prove a segment where $what', async ({ spoil }) => {
  const { parts } = nodeOf([], { isUrgent: true });
  await keepRun(await openOffer('sampled'), parts);
  spoil((name) => join(folder, jobId.slice(2), name));
  expect(await openDrawnProofs(parts, runProof).proveNext(signal)).toBe('proved');
  expect(bundles()).toEqual([bundleOf(1)]);
  expect(parts.witness.segment(jobId, 1)).toMatchObject({ statement: statementOf(1), checkpoint: Uint8Array.of(1) });
});

it('KEPT_INPUT: asks the broker again where the input that it kept does not open, and keeps what it gets', async () => {
  const offer = await openOffer('sampled');
  const { parts, refused } = nodeOf([taskOf(offer, 1)]);
  await keepRun(offer, parts);
  writeFileSync(join(folder, jobId.slice(2), 'input'), new Uint8Array(64));
  expect(await openDrawnProofs(parts, runProof).proveNext(signal)).toBe('proved');
  expect([bundles(), refused]).toEqual([[bundleOf(1)], []]);
  expect(await parts.witness.input(jobId)).toEqual({ input: {} });
});

it.each([
  { what: 'trains nothing', isKept: false, work: runOffered, told: [pattern.leaseFail] },
  { what: 'proves nothing', isKept: false, work: proveOffered, told: [pattern.proofFail] },
  { what: 'uploads no proof that it keeps', isKept: true, work: proveOffered, told: [pattern.proofFail] },
])('PROVER_JOB_KEPT: $what under other terms than those of its stake, nor asks for the key', async (way) => {
  const offer = await openOffer('zk');
  if (way.isKept) keepStalled(offer);
  kept.open(jobId, offer.specBytes, Uint8Array.of(1));
  kept.markStaked(jobId);
  const { parts, refused } = nodeOf([]);
  const send = vi.spyOn(parts.controlPlane, 'send');
  const [at, putBlob] = [vi.spyOn(parts.jobProcess, 'at'), vi.spyOn(parts.store, 'putBlob')];
  await way.work(offer, parts);
  expect(refused).toEqual(['PROVER_JOB_KEPT']);
  expect(send.mock.calls.map(([name]) => name)).toEqual(way.told);
  expect([at.mock.calls, putBlob.mock.calls]).toEqual([[], []]);
});

function runOffered({ job }: OfferedJob, parts: NodeParts): Promise<unknown> {
  const lease = { leaseId: '11111111-1111-4111-8111-111111111111', fence: 1, expiresAt: 1, job };
  return runLease(lease, parts, signal);
}

function proveOffered(offer: OfferedJob, parts: NodeParts): Promise<unknown> {
  return runProof(taskOf(offer, 1), parts, signal);
}
