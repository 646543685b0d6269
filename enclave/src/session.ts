/**
 * One enclave session: what each request of the host does. The order open → attest → job → shard… → train is enforced;
 * a request out of order is refused and changes nothing. While a job is held or runs, `attest` and `renew` keep its
 * lease. Requests are taken one after the other, however they arrive.
 */
import { encodeCanonical, equalBytes, Rejection, toCbor, toHex } from '#attestation/base';
import {
  decodeTerms,
  domainSeparator,
  escrowIdOf,
  jobIdOf,
  keyReleaseAad,
  parseJobSpec,
  readSealedDataset,
  workersOf,
  type JobSpec,
} from '#attestation/records';
import { openShard, openDataKey } from '#libs/sealing';
import { GuardViolation } from '#libs/step';
import type { EnclaveEvent, EventOf, Request, RequestOf } from '#libs/wire/channel';
import { collectEvidence, type Machine } from './attesters/collect.js';
import type { Emit } from './channel/serve.js';
import { failedEvent } from './failure.js';
import { finishJob, stopAtGuard } from './finish.js';
import { checkGrant } from './grant.js';
import { assembleJob, checkJob, type HeldJob } from './job.js';
import { createSessionKeys, type SessionKeys } from './keys.js';
import { createAnsweredNonces, openLease, type AnsweredNonces, type JobLease, type Monotonic } from './lease.js';
import type { SendPiece } from './pieces.js';
import type { ReadyJob } from './ready-job.js';
import { startBytesOf, startKindOf } from './start.js';
import { createStopwatch, type Stopwatch } from './stopwatch.js';
import type { GivenCheckpoint } from './resume.js';
import { trainJob, type Position } from './trainer.js';
import { openRoundWorker, type RoundWorker } from './round-worker.js';

interface Session {
  /** Answers one request. @throws CodedError, which becomes the request's error reply */
  handle(request: Request): Promise<Uint8Array>;
}

const nothing = new Uint8Array();

/** What a session has come to. */
interface State {
  readonly machine: Machine;
  readonly emit: Emit;
  readonly now: Monotonic;
  readonly answered: AnsweredNonces;
  keys: SessionKeys | null;
  held: HeldJob | null;
  /** Worker of a data-parallel job whose shards have been checked. */
  roundWorker: RoundWorker | null;
  running: AbortController | null;
  /** Lease of the job that came last; it is kept until another job comes. */
  lease: JobLease | null;
  watch: Stopwatch;
}

export function createSession(machine: Machine, emit: Emit, now: Monotonic = () => performance.now()): Session {
  const begun = { keys: null, held: null, roundWorker: null, running: null, lease: null, watch: createStopwatch() };
  const state: State = { machine, emit, now, answered: createAnsweredNonces(now), ...begun };
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
    case 'start':
      return start(state, request);
    case 'piece':
      return piece(state, request);
    case 'train':
      return train(state, request);
    case 'prepare':
      await roundWorkerOf(state);
      return nothing;
    case 'segment':
      return work(state, async (worker, signal) => [await worker.segment(request, signal)]);
    case 'partial':
      await (await roundWorkerOf(state)).take(request.ciphertext);
      return nothing;
    case 'average':
      return work(state, (worker) => worker.average(request));
    case 'renew':
      return renew(state, request);
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

async function attest({ machine, keys, answered }: State, { nonce }: RequestOf<'attest'>): Promise<Uint8Array> {
  const session = required(keys, 'open before attest');
  answered.note(nonce);
  return collectEvidence(machine, nonce, session);
}

async function renew(state: State, { lease, signature }: RequestOf<'renew'>): Promise<Uint8Array> {
  required(state.lease, 'job before renew').renew(lease, signature);
  return nothing;
}

async function accept(state: State, request: RequestOf<'job'>): Promise<Uint8Array> {
  const session = required(state.keys, 'open before job');
  if (state.running !== null) throw outOfOrder('one job at a time', 'a job is running');
  state.watch = createStopwatch();
  const spec = parseJobSpec(request.spec);
  const jobId = jobIdOf(spec);
  const dataset = readSealedDataset(request.dataset);
  const terms = decodeTerms(request.terms);
  const { release, signature, sealedKey, hostSecret } = request;
  const own = { binding: session.binding, release, signature };
  checkGrant({ spec, terms }, own, sealedKey);
  const { chainId, contract } = spec.settlement;
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const lease = openLease({ release, domain, broker: terms.keyBroker, answered: state.answered, now: state.now });
  const { datasetId, key: dataKey } = await openDataKey(
    sealedKey,
    { jobId, aad: keyReleaseAad(session.binding, escrowIdOf(terms)) },
    session.transportSecret,
  );
  requireDataset(spec, datasetId);
  const held = checkJob({ jobId, spec, dataset, dataKey, hostSecret, terms, own, lease });
  // The key came, so the evidence was accepted: work may reach the GPUs.
  state.machine.gpus?.setReady();
  state.held = held;
  state.lease = lease;
  await state.roundWorker?.close();
  state.roundWorker = null;
  return nothing;
}

function requireDataset({ dataset }: JobSpec, got: Uint8Array): void {
  if (equalBytes(got, dataset.id)) return;
  throw new Rejection('DATA_KEY_DATASET', {
    expected: `the key of data set ${toHex(dataset.id)}`,
    got: `the key of ${toHex(got)}`,
    rule: 'enclave/SPEC.md, grant',
    action: 'release the key of the data set that the job names',
  });
}

async function shard({ held, watch }: State, { index, ciphertext }: RequestOf<'shard'>): Promise<Uint8Array> {
  const job = required(held, 'job before shard');
  job.lease.check();
  const records = await watch.measure('decrypt', () => openShard(job.dataset, index, ciphertext, job.dataKey));
  job.shards.set(index, records);
  return nothing;
}

async function start({ held }: State, { index, weights }: RequestOf<'start'>): Promise<Uint8Array> {
  const job = required(held, 'job before start');
  job.lease.check();
  if (startKindOf(job.manifest) !== 'weights') throw outOfOrder('weights of a job that starts from some', 'others');
  if (index !== 0 && index !== job.startParts.length) {
    throw outOfOrder(`part 0 or ${job.startParts.length} of the start weights`, `part ${index}`);
  }
  const size = job.startParts.slice(0, index).reduce((sum, part) => sum + part.length, weights.length);
  if (size > startBytesOf(job.manifest)) throw outOfOrder('no more than the start weights', `${size} bytes`);
  job.startParts.splice(index, job.startParts.length, weights);
  return nothing;
}

async function piece({ held }: State, { index, ciphertext }: RequestOf<'piece'>): Promise<Uint8Array> {
  const job = required(held, 'job before piece');
  job.lease.check();
  await job.incoming.take(index, ciphertext);
  return nothing;
}

async function train(state: State, request: RequestOf<'train'>): Promise<Uint8Array> {
  const session = required(state.keys, 'open before train');
  const job = required(state.held, 'job before train');
  if (state.running !== null) throw outOfOrder('one job at a time', 'a job is running');
  job.lease.check();
  requireWorkers(job, 1);
  const checkpoint = await job.incoming.end(request.checkpoint);
  const ready = await state.watch.measure('check', () => assembleJob(job));
  state.held = null;
  const running = new AbortController();
  state.running = running;
  void run(ready, session, { checkpoint, threads: request.threads }, state, running.signal)
    .catch(failedEvent)
    .then((event) => void state.emit(event))
    .finally(() => (state.running = null));
  return nothing;
}

async function run(
  job: ReadyJob,
  session: SessionKeys,
  { checkpoint, threads }: { readonly checkpoint: GivenCheckpoint | null; readonly threads: number },
  { emit, watch }: State,
  signal: AbortSignal,
): Promise<EnclaveEvent> {
  let position: Position | null = null;
  const send = pieceSender(emit);
  try {
    const trained = await trainJob(job, {
      keys: session,
      threads,
      checkpoint,
      signal,
      watch,
      reached: (reached) => (position = reached),
      progress: (event) => void emit({ type: 'progress', ...event }),
      evaluated: (event) => void emit({ type: 'evaluation', ...event }),
      piece: send,
      checkpointed: (event) => emit({ type: 'checkpoint', ...event }),
    });
    return await finishJob(job, trained, session, watch, send);
  } catch (error) {
    if (error instanceof GuardViolation && position !== null) return stopAtGuard(job, error, position, session);
    throw error;
  }
}

/** Answers at once and works on; what comes of it are events. */
async function work(
  state: State,
  task: (worker: RoundWorker, signal: AbortSignal) => Promise<readonly EnclaveEvent[]>,
): Promise<Uint8Array> {
  if (state.running !== null) throw outOfOrder('one segment or average at a time', 'one is running');
  const worker = await roundWorkerOf(state);
  const running = new AbortController();
  state.running = running;
  void task(worker, running.signal)
    .catch((error: unknown) => [failedEvent(error)])
    .then(async (events) => {
      state.running = null;
      for (const event of events) void state.emit(event);
    });
  return nothing;
}

async function roundWorkerOf(state: State): Promise<RoundWorker> {
  if (state.roundWorker !== null) return state.roundWorker;
  const keys = required(state.keys, 'open before segment');
  const job = required(state.held, 'job before segment');
  job.lease.check();
  requireWorkers(job, 2);
  const ready = await state.watch.measure('check', () => assembleJob(job));
  state.held = null;
  const progress = (event: Omit<EventOf<'progress'>, 'type'>): void => void state.emit({ type: 'progress', ...event });
  const callbacks = { keys, watch: state.watch, progress, piece: pieceSender(state.emit) };
  return (state.roundWorker = openRoundWorker(ready, callbacks));
}

function pieceSender(emit: Emit): SendPiece {
  return (index, ciphertext) => emit({ type: 'piece', index, ciphertext });
}

/** A plain job is trained as a whole, a data-parallel one by its segments. @throws Rejection JOB_PARALLEL */
function requireWorkers({ spec }: HeldJob, least: 1 | 2): void {
  const workers = workersOf(spec);
  if (workers > 1 === least > 1) return;
  throw new Rejection('JOB_PARALLEL', {
    expected: least > 1 ? 'a data-parallel job' : 'a job of one worker',
    got: `one of ${workers}`,
    rule: 'enclave/SPEC.md, rounds',
    action: 'ask for segments and averages of a data-parallel job, and train any other',
  });
}

function required<T>(value: T | null, order: string): T {
  if (value === null) throw outOfOrder(order, 'a request before its time');
  return value;
}

function outOfOrder(expected: string, got: string): Rejection {
  return new Rejection('REQUEST_ORDER', { expected, got, rule: 'enclave/SPEC.md, session' });
}

function cancelled(): Rejection {
  return new Rejection('JOB_CANCELLED', {
    expected: 'the job to go on',
    got: 'a cancel request',
    rule: 'enclave/SPEC.md, session',
  });
}
