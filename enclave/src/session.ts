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
import { createStopwatch, type Stopwatch } from './stopwatch.js';
import { trainJob, type ReadyJob } from './trainer.js';
import { unsealDataKey } from './unseal.js';

export interface Session {
  /** Answers one request. @throws CodedError, which becomes the request's error reply */
  handle(request: Request): Promise<Uint8Array>;
}

const nothing = new Uint8Array();

/** What a session has come to. */
interface State {
  readonly machine: Machine;
  readonly emit: (event: EnclaveEvent) => void;
  keys: SessionKeys | null;
  held: HeldJob | null;
  running: AbortController | null;
  watch: Stopwatch;
}

export function createSession(machine: Machine, emit: (event: EnclaveEvent) => void): Session {
  const state: State = { machine, emit, keys: null, held: null, running: null, watch: createStopwatch() };
  let last: Promise<unknown> = Promise.resolve();
  return {
    handle(request) {
      const answered = last.then(() => answer(state, request));
      last = answered.catch(() => undefined);
      return answered;
    },
  };
}

async function answer(state: State, request: Request): Promise<Uint8Array> {
  switch (request.type) {
    case 'open':
      return open(state, request);
    case 'attest':
      return attest(state, request);
    case 'job':
      return accept(state, request);
    case 'shard':
      return shard(state, request);
    case 'train':
      return train(state, request);
    case 'cancel':
      state.running?.abort(cancelled());
      return nothing;
  }
}

async function open(state: State, { provider, chainId, registry }: RequestOf<'open'>): Promise<Uint8Array> {
  if (state.keys !== null) throw outOfOrder('one open per process', 'a second');
  state.keys = await createSessionKeys({ provider, chainId, registry });
  return encodeCanonical(toCbor(state.keys.binding));
}

async function attest({ machine, keys }: State, { nonce }: RequestOf<'attest'>): Promise<Uint8Array> {
  return collectEvidence(machine, nonce, required(keys, 'open before attest').binding);
}

async function accept(state: State, request: RequestOf<'job'>): Promise<Uint8Array> {
  const session = required(state.keys, 'open before job');
  if (state.running !== null) throw outOfOrder('one job at a time', 'a job is running');
  state.watch = createStopwatch();
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
  state.machine.gpus?.setReady();
  const terms = decodeTerms(request.terms);
  state.held = checkJob({ jobId, spec, dataset, dataKey: dataKey.key, terms, session: session.binding });
  return nothing;
}

async function shard({ held, watch }: State, { index, ciphertext }: RequestOf<'shard'>): Promise<Uint8Array> {
  const job = required(held, 'job before shard');
  const records = await watch.measure('decrypt', () => openShard(job.dataset, index, ciphertext, job.dataKey));
  job.shards.set(index, records);
  return nothing;
}

async function train(state: State, request: RequestOf<'train'>): Promise<Uint8Array> {
  const session = required(state.keys, 'open before train');
  const job = required(state.held, 'job before train');
  if (state.running !== null) throw outOfOrder('one job at a time', 'a job is running');
  const ready = await state.watch.measure('check', () => assembleJob(job));
  state.held = null;
  const running = new AbortController();
  state.running = running;
  void run(ready, session, request, state, running.signal)
    .catch(failedEvent)
    .then(state.emit)
    .finally(() => (state.running = null));
  return nothing;
}

async function run(
  job: ReadyJob,
  session: SessionKeys,
  { checkpoint, threads }: RequestOf<'train'>,
  { emit, watch }: State,
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
