/**
 * One enclave session: what each request of the host does. The order open → attest → job → shard… → train is enforced;
 * a request out of order is refused and changes nothing. Requests are taken one after the other, however they arrive.
 */
import {
  decodeTerms,
  equalBytes,
  jobIdOf,
  parseJobSpec,
  readDatasetManifest,
  Rejection,
  toHex,
  encodeCanonical,
  toCbor,
} from '#attestation';
import { GuardViolation } from '#libs/step';
import { collectEvidence, type Machine } from './attesters/collect.js';
import type { EnclaveEvent, Request, RequestOf } from './channel/messages.js';
import { assembleJob, checkJob, type HeldJob } from './job.js';
import { createSessionKeys, type SessionKeys } from './keys.js';
import { failedEvent } from './failure.js';
import { finishJob, stopAtGuard } from './finish.js';
import { openShard } from './shards.js';
import { createStopwatch } from './stopwatch.js';
import { trainJob, type ReadyJob } from './trainer.js';
import { unsealDataKey } from './unseal.js';

export interface Session {
  /** Answers one request. @throws CodedError, which becomes the request's error reply */
  handle(request: Request): Promise<Uint8Array>;
}

const nothing = new Uint8Array();

export function createSession(machine: Machine, emit: (event: EnclaveEvent) => void): Session {
  let keys: SessionKeys | null = null;
  let held: HeldJob | null = null;
  let running: AbortController | null = null;
  let watch = createStopwatch();

  async function open(request: RequestOf<'open'>): Promise<Uint8Array> {
    if (keys !== null) throw outOfOrder('one open per process', 'a second');
    const { provider, chainId, registry } = request;
    keys = await createSessionKeys({ provider, chainId, registry });
    return encodeCanonical(toCbor(keys.binding));
  }

  async function attest(request: RequestOf<'attest'>): Promise<Uint8Array> {
    const { binding } = required(keys, 'open before attest');
    return collectEvidence(machine, request.nonce, binding);
  }

  async function accept(request: RequestOf<'job'>): Promise<Uint8Array> {
    const session = required(keys, 'open before job');
    if (running !== null) throw outOfOrder('one job at a time', 'a job is running');
    watch = createStopwatch();
    const spec = parseJobSpec(request.spec);
    const jobId = jobIdOf(spec);
    const dataset = readDatasetManifest(request.dataset);
    const dataKey = await unsealDataKey(request.sealedKey, jobId, session);
    if (!equalBytes(dataKey.datasetId, spec.dataset.id)) {
      throw new Rejection('DATA_KEY_DATASET', {
        expected: `the key of data set ${toHex(spec.dataset.id)}`,
        got: `the key of ${toHex(dataKey.datasetId)}`,
        rule: 'enclave SPEC, key release',
        action: 'release the key of the data set that the job names',
      });
    }
    // The key came, so the evidence was accepted: work may reach the GPUs.
    machine.gpus?.setReady();
    const terms = decodeTerms(request.terms);
    held = checkJob({ jobId, spec, dataset, dataKey: dataKey.key, terms, session: session.binding });
    return nothing;
  }

  async function shard(request: RequestOf<'shard'>): Promise<Uint8Array> {
    const job = required(held, 'job before shard');
    const records = await watch.measure('decrypt', () =>
      openShard(job.dataset, request.index, request.ciphertext, job.dataKey),
    );
    job.shards.set(request.index, records);
    return nothing;
  }

  async function train(request: RequestOf<'train'>): Promise<Uint8Array> {
    const session = required(keys, 'open before train');
    const job = required(held, 'job before train');
    if (running !== null) throw outOfOrder('one job at a time', 'a job is running');
    const ready = await watch.measure('check', () => assembleJob(job));
    held = null;
    running = new AbortController();
    void run(ready, session, request, running.signal)
      .catch(failedEvent)
      .then(emit)
      .finally(() => (running = null));
    return nothing;
  }

  async function run(
    job: ReadyJob,
    session: SessionKeys,
    { checkpoint, threads }: RequestOf<'train'>,
    signal: AbortSignal,
  ): Promise<EnclaveEvent> {
    let borders: readonly Uint8Array[] = [];
    try {
      const trained = await trainJob(job, {
        keys: session,
        threads,
        checkpoint,
        signal,
        watch,
        reached: (reached) => (borders = reached),
        progress: (event) => emit({ type: 'progress', ...event }),
        checkpointed: (event) => emit({ type: 'checkpoint', ...event }),
      });
      return await finishJob(job, trained, session, watch);
    } catch (error) {
      if (error instanceof GuardViolation) return stopAtGuard(job, error, borders, session);
      throw error;
    }
  }

  async function answer(request: Request): Promise<Uint8Array> {
    switch (request.type) {
      case 'open':
        return open(request);
      case 'attest':
        return attest(request);
      case 'job':
        return accept(request);
      case 'shard':
        return shard(request);
      case 'train':
        return train(request);
      case 'cancel':
        running?.abort(cancelled());
        return nothing;
    }
  }

  let last: Promise<unknown> = Promise.resolve();
  return {
    handle(request) {
      const answered = last.then(() => answer(request));
      last = answered.catch(() => undefined);
      return answered;
    },
  };
}

function required<T>(value: T | null, order: string): T {
  if (value === null) throw outOfOrder(order, 'a request before its time');
  return value;
}

function outOfOrder(expected: string, got: string): Rejection {
  return new Rejection('REQUEST_ORDER', { expected, got, rule: 'enclave SPEC, session' });
}

function cancelled(): Rejection {
  return new Rejection('JOB_CANCELLED', {
    expected: 'the job to go on',
    got: 'a cancel request',
    rule: 'enclave SPEC, session',
  });
}
