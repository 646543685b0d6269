/** One segment of a data-parallel job: from the claim to the partial that the control plane has. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, toBase64 } from '#attestation/base';
import { type ControlPlane, failureOf, note, parseSegmentHeld, parseSegmentJoined } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import { pattern, type NodeRegistered, type SegmentTask } from '#libs/wire';
import type { EnclaveEvent, EventOf } from '#libs/wire/channel';
import { clocksApart } from './job-session.js';
import { createBlobCache, type BlobCache } from './blob-cache.js';
import { type TrainingParts, enclaveFailure, enclaveLost, figuresOf } from './training.js';

const prolongMsMax = 5000;

/** A session of this node that has joined a job. */
export interface JoinedWorker {
  readonly node: NodeRegistered;
  readonly workerId: string;
  readonly enclave: EnclaveClient;
  readonly events: EnclaveEvents;
  readonly blobs: BlobCache;
  readonly controlPlane: ControlPlane;
  readonly threads: number;
}

export function workerOf(
  node: NodeRegistered,
  workerId: string,
  enclave: EnclaveClient,
  { store, controlPlane, threads }: Pick<TrainingParts, 'store' | 'controlPlane' | 'threads'>,
): JoinedWorker {
  const events = followEnclave(enclave);
  return { node, workerId, enclave, events, blobs: createBlobCache(store), controlPlane, threads };
}

/** What an enclave says beside its progress, one thing after the other. */
interface EnclaveEvents {
  next(): Promise<EnclaveEvent>;
  /** Whether something was said that nobody has taken yet. */
  has(): boolean;
  /** Of the segment at hand; null before its first. */
  progress(): EventOf<'progress'> | null;
}

function followEnclave(enclave: EnclaveClient): EnclaveEvents {
  const events: EnclaveEvent[] = [];
  let isLost = false;
  let progress: EventOf<'progress'> | null = null;
  let wake = (): void => undefined;
  enclave.onLost(() => {
    isLost = true;
    wake();
  });
  enclave.onEvent((event) => {
    if (event.type === 'progress') return void (progress = event);
    events.push(event);
    wake();
  });
  return {
    async next() {
      for (;;) {
        const event = events.shift();
        if (event !== undefined) return event;
        if (isLost) throw enclaveLost();
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    has: () => events.length > 0,
    progress: () => progress,
  };
}

interface Joining {
  readonly node: NodeRegistered;
  readonly jobId: string;
  /** Both toBase64. */
  readonly evidence: string;
  readonly endorsements: string;
  readonly release: object;
}

/** @returns the worker's id @throws Rejection PARALLEL_PROVIDER, WORKER_REFUSED and others of the control plane */
export async function joinJob(controlPlane: ControlPlane, { node, ...job }: Joining): Promise<string> {
  const message = { nodeId: node.nodeId, ...job };
  return parseSegmentJoined(await controlPlane.send(pattern.segmentJoin, message).catch(clocksApart)).workerId;
}

/**
 * @returns that the segment left its range, or null; a segment that somebody else has taken meanwhile is let go
 * @throws the enclave's failure, after the claim was given back
 */
export async function workSegment(task: SegmentTask, worker: JoinedWorker): Promise<EventOf<'stopped'> | null> {
  const { controlPlane, enclave, blobs } = worker;
  const ref = refOf(task, worker.node);
  const checkpoint = task.checkpoint === null ? null : await blobs.get(task.checkpoint);
  const claim = keepClaim(ref, task, worker);
  try {
    await enclave.request('segment', { index: task.index, checkpoint, threads: worker.threads });
    const event = await worker.events.next();
    if (event.type === 'failed') throw enclaveFailure(event);
    if (event.type === 'stopped') {
      await giveBack(
        controlPlane,
        ref,
        enclaveFailure({ ...event, code: 'GUARD_VIOLATION', type: 'failed', rule: 'libs/step/SPEC.md §7' }),
      );
      return event;
    }
    if (event.type !== 'partial') throw new Error(`${event.type} in place of a partial`);
    const signed = { statement: toBase64(event.statement), receipt: toBase64(event.receipt) };
    const blob = await blobs.put(event.ciphertext);
    await controlPlane.send(pattern.segmentDeliver, { ...ref, workerId: worker.workerId, ...signed, blob });
    return null;
  } catch (error) {
    if (claim.isLost() || (error instanceof CodedError && error.code === 'LEASE_FENCED')) {
      note(`segment ${task.index}`, error);
      return null;
    }
    await giveBack(controlPlane, ref, error);
    throw error;
  } finally {
    claim.stop();
  }
}

/** Tells how far it is, which prolongs the claim; a claim that is lost ends the work on it. */
function keepClaim(ref: object, { index }: SegmentTask, { node, controlPlane, enclave, events }: JoinedWorker) {
  const stop = new AbortController();
  const everyMs = Math.min(prolongMsMax, (1000 * node.leaseSeconds) / 4);
  let isLost = false;
  const loop = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs, null, { signal: stop.signal }).catch(() => null);
      if (stop.signal.aborted) return;
      try {
        const event = events.progress();
        const said = { ...ref, ...(event === null ? { step: 0 } : figuresOf(event)) };
        const { held } = parseSegmentHeld(await controlPlane.send(pattern.segmentProgress, said));
        if (held || stop.signal.aborted) continue;
        isLost = true;
        return void (await enclave.request('cancel', {}));
      } catch (error) {
        note(`segment ${index}`, error);
      }
    }
  };
  void loop();
  return { isLost: () => isLost, stop: () => stop.abort() };
}

export function refOf({ jobId, index, fence }: SegmentTask, { nodeId }: NodeRegistered) {
  return { nodeId, jobId, index, fence };
}

/** The next worker need not wait until the claim is over. */
export async function giveBack(controlPlane: ControlPlane, ref: object, error: unknown): Promise<void> {
  note('segment', error);
  const message = { ...ref, ...failureOf(error, 'HOST_INTERNAL') };
  await controlPlane.send(pattern.segmentFail, message).catch((failure: unknown) => note('report', failure));
}
