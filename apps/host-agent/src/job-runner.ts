/**
 * One lease from evidence to delivery. The host forwards and stores; it never sees a key or a plaintext byte. Whatever
 * fails is told to the control plane with its code, and whether another attempt can help.
 */
import {
  CodedError,
  CollateralError,
  datasetManifestJson,
  encodeTerms,
  fromHex,
  keyCommitment,
  parseDatasetManifest,
  parseTermsJson,
  Rejection,
  toHex,
  utf8,
  type DatasetManifest,
  type Terms,
} from '#attestation';
import type { EnclaveEvent, EventOf } from '#enclave';
import type { EnclaveClient } from '#libs/enclave-channel';
import { pattern, type AssignedJob, type LeaseGrant } from '#libs/messaging';
import { createBrokerClient, publicPart, type BrokerRelease } from './broker-client.js';
import type { ControlPlane } from './control-plane.js';
import type { PendingResult, PendingResults } from './pending.js';
import type { Provider, Transaction } from './provider.js';
import type { CipherStore } from './store.js';

export interface RunnerParts {
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  readonly provider: Provider;
  readonly pending: PendingResults;
  readonly threads: number;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

/** Works one lease to its end. Never throws: the end is told to the control plane. */
export async function runLease(grant: LeaseGrant, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const lease = { leaseId: grant.leaseId, fence: grant.fence };
  try {
    await work(grant.job, lease, enclave, parts);
  } catch (error) {
    await report(error, lease, parts.controlPlane);
  }
}

interface Lease {
  readonly leaseId: string;
  readonly fence: number;
}

async function work(job: AssignedJob, lease: Lease, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const { controlPlane } = parts;
  const terms = parseTermsJson(job.terms);
  const spec = fromBase64(job.spec);
  const dataset = parseDatasetManifest(job.datasetManifest);
  const began = performance.now();
  const answer = await attestAndAsk(job, lease, enclave, controlPlane, spec, encodeTerms(terms));
  const attestMs = performance.now() - began;
  const transactions = await parts.provider.engage(terms, answer);
  const finished = parts.pending.find(job.jobId.slice(2));
  if (finished !== null) {
    const result = { ...finished, lease };
    parts.pending.save(result);
    await controlPlane.send(pattern.leaseRunning, lease);
    if (result.run.outcome !== 0) return tellStopped(result, parts, 'sealed before this host was restarted');
    return handOver(result, parts, { timings: { attest: attestMs / 1000 }, transactions });
  }
  await enclave.request('job', {
    spec,
    terms: encodeTerms(terms),
    dataset: utf8(JSON.stringify(datasetManifestJson(dataset))),
    sealedKey: answer.sealedKey,
  });
  const shardsBegan = performance.now();
  await sendShards(dataset, enclave, parts.store);
  const timings = { attest: attestMs / 1000, shards: (performance.now() - shardsBegan) / 1000 };
  await controlPlane.send(pattern.leaseRunning, lease);
  const checkpoint = job.resume === null ? null : await parts.store.getBlob(job.resume.blob);
  const end = await train(lease, enclave, parts, checkpoint);
  if (end.type === 'stopped') return stop(end, job, terms, lease, parts);
  const result = pendingOf(job, terms, lease, end);
  parts.pending.save(result);
  await handOver(result, parts, { timings: { ...timings, ...secondsOf(end.timings) }, transactions });
}

/**
 * The next step for a result that is on disk and that no lease works on: after a restart, or after the chain forgot it.
 * Telling the control plane again is harmless; where it has given the job away, its next lease goes on from the disk.
 */
export async function collectResult(jobId: string, parts: RunnerParts): Promise<void> {
  const result = parts.pending.find(jobId);
  if (result === null) return;
  const collected = await parts.provider.collect(result);
  if (collected === 'done') parts.pending.remove(result);
  if (collected === 'uncommitted') await handOver(result, parts, { timings: {}, transactions: [] });
}

/** Fresh evidence over the broker's nonce, shown to the control plane and to the broker. */
async function attestAndAsk(
  job: AssignedJob,
  lease: Lease,
  enclave: EnclaveClient,
  controlPlane: ControlPlane,
  spec: Uint8Array,
  terms: Uint8Array,
): Promise<BrokerRelease> {
  const broker = createBrokerClient(job.brokerUrl);
  const evidence = await enclave.request('attest', { nonce: await broker.challenge(job.jobId) });
  await controlPlane.send(pattern.leaseAttested, { ...lease, evidence: base64(evidence) });
  const answer = await broker.release({ spec, terms, evidence });
  const release = { release: publicPart(answer), result: base64(answer.result) };
  await controlPlane.send(pattern.leaseKeyed, { ...lease, release });
  return answer;
}

async function sendShards(dataset: DatasetManifest, enclave: EnclaveClient, store: CipherStore): Promise<void> {
  let sent: Promise<unknown> = Promise.resolve();
  for (const index of dataset.shards.keys()) {
    const ciphertext = await store.shard(hex(dataset.id), index);
    await sent;
    sent = enclave.request('shard', { index, ciphertext });
    sent.catch(() => undefined);
  }
  await sent;
}

/**
 * Trains; progress and checkpoints go to the control plane in order while the enclave works on. A run that nobody waits
 * for any more, because the lease is lost or the control plane away, ends with its enclave: the next lease gets another.
 */
function train(
  lease: Lease,
  enclave: EnclaveClient,
  parts: RunnerParts,
  checkpoint: Uint8Array | null,
): Promise<EventOf<'result'> | EventOf<'stopped'>> {
  let running = true;
  const end = new Promise<EventOf<'result'> | EventOf<'stopped'>>((resolve, reject) => {
    let told: Promise<void> = Promise.resolve();
    const tell = (step: () => Promise<void>): void => {
      told = told.then(step);
      told.catch(reject);
    };
    enclave.onLost(() => reject(enclaveLost()));
    enclave.onEvent((event: EnclaveEvent) => {
      switch (event.type) {
        case 'progress':
          return tell(() => progress(event, lease, parts.controlPlane));
        case 'checkpoint':
          return tell(() => checkpointed(event, lease, parts));
        case 'failed':
          running = false;
          return tell(() => Promise.reject(failureOf(event)));
        case 'result':
        case 'stopped':
          running = false;
          return tell(async () => resolve(event));
      }
    });
    enclave.request('train', { checkpoint, threads: parts.threads }).catch(reject);
  });
  return end.catch((error: unknown) => {
    if (running) enclave.close();
    throw error;
  });
}

async function progress(event: EventOf<'progress'>, lease: Lease, controlPlane: ControlPlane): Promise<void> {
  const { step, of, lossMicro, accuracyPpm, samplesPerSecond } = event;
  const figures = { loss: lossMicro / 1e6, accuracy: accuracyPpm / 1e6, samplesPerSecond };
  await controlPlane.send(pattern.leaseProgress, { ...lease, step, of, ...figures });
}

async function checkpointed(event: EventOf<'checkpoint'>, lease: Lease, parts: RunnerParts): Promise<void> {
  const blob = await parts.store.putBlob(event.ciphertext);
  const signed = { statement: base64(event.statement), receipt: base64(event.receipt) };
  await parts.controlPlane.send(pattern.leaseCheckpoint, { ...lease, step: event.step, ...signed, blob });
}

interface Account {
  /** Seconds by phase. */
  readonly timings: Readonly<Record<string, number>>;
  readonly transactions: readonly Transaction[];
}

/** To the control plane first, so that the client has the ciphertext before the chain asks for it. */
async function handOver(result: PendingResult, parts: RunnerParts, account: Account): Promise<void> {
  if (result.run.outcome === 0) await deliver(result, parts, account);
  await parts.provider.commit(result);
}

async function deliver(result: PendingResult, parts: RunnerParts, { timings, transactions }: Account): Promise<void> {
  const blob = await parts.store.putBlob(result.ciphertext);
  await parts.controlPlane.send(pattern.leaseDeliver, {
    ...result.lease,
    result: { blob, bytes: result.ciphertext.length, keyCommit: hex(keyCommitment(result.revealKey)) },
    run: runJson(result.run),
    seal: base64(result.seal),
    borders: result.borders.map(hex),
    receipts: [],
    timings,
    transactions,
  });
}

/** The run left its declared range: the chain is told under seal so that the client is refunded at once. */
async function stop(
  end: EventOf<'stopped'>,
  job: AssignedJob,
  terms: Terms,
  lease: Lease,
  parts: RunnerParts,
): Promise<void> {
  const empty = { ciphertext: new Uint8Array(), revealKey: new Uint8Array(32) };
  const result: PendingResult = { ...empty, ...partsOf(job, terms, lease, end) };
  parts.pending.save(result);
  const { step, tensor, expected, got } = end;
  await tellStopped(result, parts, `expected ${expected}, got ${got}`, { step, tensor });
}

async function tellStopped(
  result: PendingResult,
  parts: RunnerParts,
  detail: string,
  place: { readonly step?: number; readonly tensor?: string } = {},
): Promise<void> {
  await parts.provider.commit(result);
  const failure = { code: 'GUARD_VIOLATION', detail, ...place, retry: false };
  await parts.controlPlane.send(pattern.leaseFail, { ...result.lease, ...failure });
}

function pendingOf(job: AssignedJob, terms: Terms, lease: Lease, end: EventOf<'result'>): PendingResult {
  return { ...partsOf(job, terms, lease, end), ciphertext: end.ciphertext, revealKey: end.revealKey };
}

function partsOf(
  job: AssignedJob,
  terms: Terms,
  lease: Lease,
  { borders, run, seal }: EventOf<'result'> | EventOf<'stopped'>,
) {
  return { jobId: fromHex(job.jobId), lease, terms: encodeTerms(terms), borders, run, seal };
}

function runJson(run: PendingResult['run']): Record<string, string | number> {
  const { upTo, outcome, bordersRoot, last, delivery } = run;
  return { upTo, outcome, bordersRoot: hex(bordersRoot), last: hex(last), delivery: hex(delivery) };
}

function secondsOf(timings: EventOf<'result'>['timings']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(timings).map(([name, micros]) => [name.replace(/Micros$/, ''), Number(micros) / 1e6]),
  );
}

function failureOf(event: EventOf<'failed'>): CodedError {
  const { code, expected, got, rule, action } = event;
  return new Rejection(code, { expected, got, rule, action });
}

function enclaveLost(): CollateralError {
  return new CollateralError('ENCLAVE_LOST', {
    expected: 'the enclave to finish',
    got: 'a closed channel',
    rule: 'enclave SPEC, channel',
    action: 'the job goes on in a fresh enclave from its last checkpoint',
  });
}

/** A lease that is no longer ours is somebody else's to end. */
async function report(error: unknown, lease: Lease, controlPlane: ControlPlane): Promise<void> {
  const coded = error instanceof CodedError ? error : null;
  process.stderr.write(
    `${JSON.stringify({ lease: lease.leaseId, ...(coded?.toJSON() ?? { code: String(error) }) })}\n`,
  );
  if (coded?.code === 'LEASE_FENCED') return;
  const detail =
    coded === null ? 'the host agent failed' : `expected ${coded.detail.expected}, got ${coded.detail.got}`;
  await controlPlane
    .send(pattern.leaseFail, {
      ...lease,
      code: coded?.code ?? 'HOST_INTERNAL',
      detail: detail.slice(0, 900),
      retry: !(coded instanceof Rejection),
    })
    .catch(() => undefined);
}
