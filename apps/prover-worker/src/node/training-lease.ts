/** A whole job without a TEE: its key, its escrow, its steps, then its proofs by whoever proves, and the delivery. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, Rejection, to0x, toBase64 } from '#attestation/base';
import { bordersRoot, ciphertextDigest, encodeTerms, type Terms } from '#attestation/records';
import { failureOf, note, plainText } from '#libs/node';
import { pattern, type LeaseGrant } from '#libs/wire';
import type { Border, Finished, Stopped, Trained } from '../compute/train.js';
import type { Compute } from './compute.js';
import { checkFloor } from './contract-floor.js';
import type { Transaction } from './escrow.js';
import { handOver } from './deliveries.js';
import { isSampled } from './draw.js';
import type { KeptDelivery } from './kept-jobs.js';
import type { OpenedInput } from './kept-witness.js';
import { checkTerms, entrust, openInput, readOffer, type OfferedJob } from './offered-job.js';
import { openOwnProofs } from './own-proofs.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';

const proofPauseMs = 1000;
/** Others may take so many times what a proof is expected to take. */
const patienceFactor = 2;

const codeGivenBack = 'LEASE_GIVEN_BACK';

type LeaseRef = Pick<LeaseGrant, 'leaseId' | 'fence'>;

/** Works one lease to its end. Never throws: the end is told to the control plane. */
export async function runLease(grant: LeaseGrant, parts: NodeParts, stop: AbortSignal): Promise<void> {
  const { leaseId, fence, job } = grant;
  const about = { job: job.jobId, leaseId, fence };
  parts.watch.event('lease-taken', about);
  try {
    await work(grant, { leaseId, fence }, parts, stop);
    parts.watch.event('lease-ended', { ...about, code: null });
  } catch (error) {
    const failure = failureOf(error, 'PROVER_INTERNAL');
    parts.watch.failure('lease');
    parts.watch.event('lease-ended', { ...about, code: failure.code });
    note('lease', error);
    // Other codes of leases are what the control plane itself has said.
    if (failure.code.startsWith('LEASE_') && failure.code !== codeGivenBack) return;
    const retry = error instanceof CollateralError || stop.aborted;
    const send = parts.controlPlane.send(pattern.leaseFail, { leaseId, fence, ...failure, retry });
    await send.catch((problem: unknown) => note('lease', problem));
  }
}

async function work(grant: LeaseGrant, lease: LeaseRef, parts: NodeParts, stop: AbortSignal): Promise<void> {
  const { settings, controlPlane, escrow, kept, witness, jobProcess, store, watch } = parts;
  const { job } = grant;
  const offer = readOffer(job, settings);
  checkTerms(offer, escrow.account, settings.escrow);
  kept.checkTerms(offer.jobId, encodeTerms(offer.terms));
  checkNotGivenBack(offer.jobId, kept);
  await checkFloor(offer, settings);
  const entrusted = await entrust(offer, settings, stop);
  const { logged } = entrusted.release;
  await controlPlane.send(pattern.leaseEntrusted, { ...lease, ...(logged && { logged }) });
  watch.event('keyed', { job: job.jobId });
  const { jobId } = offer;
  const sampled = isSampled(offer.terms);
  let opened: Promise<OpenedInput> | null = null;
  const open = () => (opened ??= openInput(entrusted, store, settings.hostRoot));
  const compute = await jobProcess.at(jobId, open);
  if (sampled) witness.checkRoom(jobId, offer.spec, await open());
  kept.open(jobId, offer.specBytes, encodeTerms(offer.terms));
  if (sampled) await witness.keepInput(jobId, await open());
  checkOurs(jobId, kept);
  kept.markStaked(jobId);
  const transactions = await escrow.engage(offer, entrusted.release);
  watch.event('engaged', { job: job.jobId, escrow: job.escrowId });
  await controlPlane.send(pattern.leaseRunning, lease);
  const start = { checkpoint: await resumePoint(offer, parts), isOwn: sampled };
  const timings: Record<string, number> = {};
  const timed = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await act();
    timings[name] = (performance.now() - began) / 1000;
    return result;
  };
  const of = compute.segments * offer.spec.segmentSteps;
  const trained = await timed('train', () =>
    train(compute, start, (border) => {
      if (sampled) witness.keepBorder(jobId, border);
      return tellBorder(border, lease, parts, of);
    }),
  );
  watch.event('trained', { job: job.jobId, checkpoints: trained.borders.length - 1 });
  if (offer.spec.assurance !== 'sampled')
    await timed('prove', () => proveAll(offer, trained.borders, compute.segments, parts, stop));
  if ('stopped' in trained) return giveUp(offer, trained, lease, parts);
  const delivery = await deliveryOf({ lease, trained, timings, transactions }, parts);
  checkOurs(jobId, kept);
  kept.keepDelivery(jobId, delivery);
  await handOver({ jobId, delivery }, parts, stop);
  watch.event('delivered', { job: job.jobId, ...timings });
}

/**
 * A run that is proved before it is delivered goes on from whatever checkpoint is handed over. A sampled one is committed
 * without a proof, and staked on: it goes on from what this node itself trained, no further than was told, or from the start.
 */
async function resumePoint(
  { jobId, job: { resume }, spec, terms }: OfferedJob,
  { store, witness }: Pick<NodeParts, 'store' | 'witness'>,
): Promise<Uint8Array | null> {
  if (resume === null) return null;
  if (!isSampled(terms)) return store.getBlob(resume.blob);
  return witness.resumePoint(jobId, Math.ceil(resume.step / spec.segmentSteps));
}

interface ResumePoint {
  readonly checkpoint: Uint8Array | null;
  /** From this node's disk: where it is damaged, the run begins anew. */
  readonly isOwn: boolean;
}

/** Sees to every border in its turn, and to all of them before it returns. */
async function train(
  compute: Compute,
  { checkpoint, isOwn }: ResumePoint,
  onBorder: (border: Border) => Promise<void>,
): Promise<Trained> {
  let last: Promise<void> = Promise.resolve();
  const from = (sealed: Uint8Array | null): Promise<Trained> =>
    compute.train(sealed, (border) => {
      last = last.then(() => onBorder(border));
      last.catch(() => undefined);
    });
  const trained = await from(checkpoint).catch((error: unknown) => {
    if (checkpoint === null || !isOwn || !(error instanceof Rejection)) throw error;
    note('checkpoint', error);
    return from(null);
  });
  await last;
  return trained;
}

/** What others need to prove the segment, and to go on from its end. */
async function tellBorder(
  border: Border,
  lease: LeaseRef,
  { store, controlPlane, watch }: NodeParts,
  of: number,
): Promise<void> {
  const { step, statement, checkpoint } = border;
  const blob = await store.putBlob(checkpoint);
  await controlPlane.send(pattern.leaseCheckpoint, {
    ...lease,
    step,
    statement: toBase64(statement),
    receipt: '',
    blob,
  });
  watch.event('checkpoint', { leaseId: lease.leaseId, step, of });
  await controlPlane.send(pattern.leaseProgress, { ...lease, step: Math.min(step, of), of });
}

/**
 * Proves what is free, and brings here what others have proved: nothing is delivered that this node could not show on chain.
 * Not of a sampled job, of which nothing is due yet.
 *
 * @param borders of the run; behind the last nobody can prove, for it ended there
 * @throws CollateralError LEASE_GIVEN_BACK
 */
async function proveAll(
  offer: OfferedJob,
  borders: readonly Uint8Array[],
  segments: number,
  parts: NodeParts,
  stop: AbortSignal,
): Promise<void> {
  const { kept } = parts;
  const own = openOwnProofs({ ...offer, borders }, parts, patienceFactor * 1000 * offer.proofSeconds);
  const trained = borders.length - 1;
  const all = Array.from({ length: trained }, (_, index) => index);
  await own.dropForeign(all);
  for (;;) {
    if (stop.aborted) throw givenBack();
    const next = await own.next(all);
    const held = (kept.find(offer.jobId)?.proofs ?? []).filter((index) => index < trained).length;
    if (next.task === null && !next.kept && next.left <= segments - trained && held >= trained) return;
    const isMoved = next.task === null ? next.kept : await runProof(next.task, parts, stop, borders);
    // What is refused at once may be handed out again at once.
    if (!isMoved) await sleep(proofPauseMs, null, { signal: stop }).catch(() => null);
  }
}

/**
 * The next segment has no witness: what was trained and proved stands, the chain is told that the run left its range, and
 * the client gets back what the rest would have cost.
 */
async function giveUp(offer: OfferedJob, end: Stopped, lease: LeaseRef, parts: NodeParts): Promise<void> {
  const { step, tensor, detail } = end.stopped;
  if (!mayStop(offer.terms)) throw unsayable(detail);
  checkOurs(offer.jobId, parts.kept);
  parts.kept.keepStopped(offer.jobId, end.borders);
  const failure = { code: 'GUARD_VIOLATION', detail: plainText(detail, 900), step, tensor, retry: false };
  await parts.controlPlane.send(pattern.leaseFail, { ...lease, ...failure });
}

/** A run of a job that goes back would be had for nothing: to be called at once before it is kept. @throws CollateralError LEASE_GIVEN_BACK */
function checkOurs(jobId: string, kept: NodeParts['kept']): void {
  if (kept.find(jobId)?.isGivenBack !== false) throw givenBack();
}

/**
 * The chain may have yet to take the resignation: the control plane hands the job out until then. To be called before anything
 * is asked or done for it. @throws CollateralError LEASE_GIVEN_BACK
 */
function checkNotGivenBack(jobId: string, kept: NodeParts['kept']): void {
  if (kept.find(jobId)?.isGivenBack === true) throw givenBack();
}

/** Without a seal the contract hears it in jobs that can be challenged alone (contracts/SPEC.md §6). */
function mayStop({ windows }: Terms): boolean {
  return windows.challenge > 0;
}

function unsayable(detail: string): Rejection {
  return new Rejection('GUARD_VIOLATION', {
    expected: 'a run within its ranges, or terms under which its end can be said on chain',
    got: detail,
    rule: 'contracts/SPEC.md §6',
    action: 'lower the learning rate, choose a wider profile, or order with a challenge window',
  });
}

interface Account {
  readonly lease: LeaseRef;
  readonly trained: Finished;
  readonly timings: Readonly<Record<string, number>>;
  readonly transactions: readonly Transaction[];
}

async function deliveryOf(finished: Account, { store }: NodeParts): Promise<KeptDelivery> {
  const { lease, trained, timings, transactions } = finished;
  const { borders, result } = trained;
  const zero = to0x(new Uint8Array(32));
  return {
    ...lease,
    result: {
      ...{ blob: await store.putBlob(result), bytes: result.length },
      ...{ ciphertextDigest: to0x(ciphertextDigest(result)), keyCommit: zero },
    },
    run: {
      upTo: borders.length - 1,
      outcome: 0,
      bordersRoot: to0x(bordersRoot(borders)),
      last: to0x(borders.at(-1)!),
      delivery: zero,
      keys: zero,
    },
    seal: '',
    borders: borders.map(to0x),
    receipts: [],
    timings: { ...timings },
    transactions: [...transactions],
  };
}

function givenBack(): CollateralError {
  return new CollateralError(codeGivenBack, {
    expected: 'a lease that somebody waits for, at a node that goes on',
    got: 'one that was cancelled or lost, a job that was given back, or a node that stops',
    rule: 'dispatch protocol',
    action: 'offer the job again if it is still wanted',
  });
}
