/**
 * A data-parallel job at the node that holds its lease: it works on segments like any worker, averages a round when all its
 * partials are there, and hands the result over.
 */
import { fromBase64, toBase64 } from '#attestation/base';
import { parseJobSpec } from '#attestation/records';
import { parseSegmentAcquired } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import { parseJobManifestText } from '#libs/step';
import { pattern, type AssignedJob, type CompleteRound, type LeaseRef, type NodeRegistered } from '#libs/wire';
import type { EventOf } from '#libs/wire/channel';
import { type Attested, givenBack, judgedOf, releasedOf } from './job-session.js';
import type { PendingEscrow } from './pending.js';
import type { Transaction } from './registration.js';
import { workerOf, joinJob, workSegment, type JoinedWorker } from './segments.js';
import { enclaveFailure, type Trained, type TrainingParts } from './training.js';

const waitMs = 5000;

interface Leading {
  readonly job: AssignedJob;
  readonly node: NodeRegistered;
  /** Nobody waits for it under this lease any more. */
  isCancelled(): boolean;
  readonly lease: LeaseRef;
  readonly answer: Attested;
  readonly enclave: EnclaveClient;
  readonly parts: TrainingParts;
}

/**
 * @param engage is called when the enclave has accepted job, shards and data
 * @throws the enclave's failure; CollateralError LEASE_GIVEN_BACK; what `engage` and the control plane throw
 */
export async function leadRounds(leading: Leading, engage: () => Promise<readonly Transaction[]>): Promise<Trained> {
  const { job, node, lease, answer, enclave, parts } = leading;
  const { controlPlane } = parts;
  const { jobId } = job;
  const { steps } = parseJobManifestText(parseJobSpec(fromBase64(job.spec)).manifest);
  await enclave.request('prepare', {});
  const transactions = await engage();
  await controlPlane.send(pattern.leaseRunning, lease);
  const judged = judgedOf(answer);
  const workerId = await joinJob(controlPlane, { node, jobId, ...judged, release: releasedOf(answer) });
  const worker = workerOf(node, workerId, enclave, parts);
  const question = { nodeId: node.nodeId, jobId, waitMs, leads: true };
  const receipts: PendingEscrow['receipts'][number][] = [];
  while (!leading.isCancelled()) {
    const { task, round, over } = parseSegmentAcquired(await controlPlane.send(pattern.segmentAcquire, question));
    if (over) break;
    const stopped = task === null ? null : await workSegment(task, worker);
    if (stopped !== null) return { end: stopped, transactions, receipts, told: async () => [] };
    const closed = round === null ? null : await closeRound(round, lease, steps, worker);
    if (closed === null) continue;
    receipts.push(closed.receipt);
    const { end } = closed;
    if (end !== null) return { end, transactions, receipts, told: async () => [closed.receipt] };
  }
  throw givenBack();
}

/** Whether an end follows the checkpoint: it was said before anything that is asked afterwards is answered. */
async function hasEnded({ enclave, events }: JoinedWorker): Promise<boolean> {
  await enclave.request('prepare', {});
  return events.has();
}

interface ClosedRound {
  /** The job's, behind its last round. */
  readonly end: EventOf<'result'> | null;
  readonly receipt: PendingEscrow['receipts'][number];
}

/** Behind the last round the job's end, and the receipt goes with the delivery; behind any other it is told at once. */
async function closeRound(
  { checkpoint, partials }: CompleteRound,
  lease: LeaseRef,
  steps: number,
  worker: JoinedWorker,
): Promise<ClosedRound> {
  const { enclave, events, blobs, controlPlane } = worker;
  for (const name of partials) await enclave.request('partial', { ciphertext: await blobs.get(name) });
  await enclave.request('average', { checkpoint: checkpoint === null ? null : await blobs.get(checkpoint) });
  const event = await events.next();
  if (event.type === 'failed') throw enclaveFailure(event);
  if (event.type !== 'checkpoint') throw new Error(`${event.type} in place of a checkpoint`);
  const { step, statement, receipt, ciphertext } = event;
  if (step === steps || (await hasEnded(worker))) {
    const end = await events.next();
    if (end.type === 'failed') throw enclaveFailure(end);
    if (end.type !== 'result') throw new Error(`${end.type} in place of a result`);
    return { end, receipt: { statement, receipt } };
  }
  const blob = await blobs.put(ciphertext);
  const signed = { statement: toBase64(statement), receipt: toBase64(receipt) };
  await controlPlane.send(pattern.leaseCheckpoint, { ...lease, step, ...signed, blob });
  return { end: null, receipt: { statement, receipt } };
}
