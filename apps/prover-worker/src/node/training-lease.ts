/** A whole job without a TEE: its key, its escrow, its steps, then its proofs by whoever proves, and the delivery. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, Rejection, to0x, toBase64 } from '#attestation/base';
import { bordersRoot, ciphertextDigest, encodeTerms, type Terms } from '#attestation/records';
import { failureOf, note, parseProofAcquired, plainText } from '#libs/node';
import { pattern, type LeaseGrant } from '#libs/wire';
import type { Border, Finished, Stopped } from '../compute/train.js';
import type { Transaction } from './escrow.js';
import { handOver } from './deliveries.js';
import type { KeptDelivery } from './kept-jobs.js';
import { checkTerms, entrust, readOffer, type OfferedJob } from './offered-job.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';

const proofPauseMs = 1000;

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
    if (failure.code.startsWith('LEASE_')) return;
    const retry = error instanceof CollateralError || stop.aborted;
    const send = parts.controlPlane.send(pattern.leaseFail, { leaseId, fence, ...failure, retry });
    await send.catch((problem: unknown) => note('lease', problem));
  }
}

async function work(grant: LeaseGrant, lease: LeaseRef, parts: NodeParts, stop: AbortSignal): Promise<void> {
  const { settings, controlPlane, escrow, kept, jobProcess, store, watch } = parts;
  const { job } = grant;
  const offer = readOffer(job, settings);
  checkTerms(offer, escrow.account, settings.escrow);
  const entrusted = await entrust(offer, settings, stop);
  const { logged } = entrusted.release;
  await controlPlane.send(pattern.leaseEntrusted, { ...lease, ...(logged && { logged }) });
  watch.event('keyed', { job: job.jobId });
  const compute = await jobProcess.at(offer, settings, store, entrusted);
  kept.open(offer.jobId, offer.specBytes, encodeTerms(offer.terms));
  const transactions = await escrow.engage(offer, entrusted.release);
  watch.event('engaged', { job: job.jobId, escrow: job.escrowId });
  await controlPlane.send(pattern.leaseRunning, lease);
  const checkpoint = job.resume === null ? null : await store.getBlob(job.resume.blob);
  const timings: Record<string, number> = {};
  const timed = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const result = await act();
    timings[name] = (performance.now() - began) / 1000;
    return result;
  };
  const of = compute.segments * offer.spec.segmentSteps;
  let last: Promise<void> = Promise.resolve();
  const trained = await timed('train', () =>
    compute.train(checkpoint, (border) => {
      last = last.then(() => tellBorder(border, lease, parts, of));
      last.catch(() => undefined);
    }),
  );
  await last;
  watch.event('trained', { job: job.jobId, checkpoints: trained.borders.length - 1 });
  const untrained = compute.segments - (trained.borders.length - 1);
  await timed('prove', () => proveAll(offer, untrained, parts, stop));
  if ('stopped' in trained) return giveUp(offer, trained, lease, parts);
  const delivery = await deliveryOf({ lease, trained, timings, transactions }, parts);
  kept.keepDelivery(offer.jobId, delivery);
  await handOver({ jobId: offer.jobId, delivery }, parts, stop);
  watch.event('delivered', { job: job.jobId, ...timings });
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
 * Proves what is free and waits for what others prove.
 *
 * @param untrained segments that nobody can prove, for the run ended before them
 * @throws CollateralError LEASE_GIVEN_BACK
 */
async function proveAll({ jobId }: OfferedJob, untrained: number, parts: NodeParts, stop: AbortSignal): Promise<void> {
  const { controlPlane, nodeId, settings } = parts;
  for (;;) {
    if (stop.aborted) throw givenBack();
    const question = { nodeId, waitMs: 0, jobId, countOnly: !settings.proves };
    const { task, left } = parseProofAcquired(await controlPlane.send(pattern.proofAcquire, question));
    if (task !== null) await runProof(task, parts, stop);
    else if (left !== null && left <= untrained) return;
    else await sleep(proofPauseMs, null, { signal: stop }).catch(() => null);
  }
}

/**
 * The next segment has no witness: what was trained and proved stands, the chain is told that the run left its range, and
 * the client gets back what the rest would have cost.
 */
async function giveUp(offer: OfferedJob, end: Stopped, lease: LeaseRef, parts: NodeParts): Promise<void> {
  const { step, tensor, detail } = end.stopped;
  if (!mayStop(offer.terms)) throw unsayable(detail);
  parts.kept.keepStopped(offer.jobId, end.borders);
  const failure = { code: 'GUARD_VIOLATION', detail: plainText(detail, 900), step, tensor, retry: false };
  await parts.controlPlane.send(pattern.leaseFail, { ...lease, ...failure });
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
  return new CollateralError('LEASE_GIVEN_BACK', {
    expected: 'a lease that somebody waits for, at a node that goes on',
    got: 'one that was cancelled or lost, or a node that stops',
    rule: 'dispatch protocol',
    action: 'offer the job again if it is still wanted',
  });
}
