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
  parseDatasetManifest,
  parseJobSpec,
  parseTermsJson,
  Rejection,
  toHex,
  utf8,
  type DatasetManifest,
  type Terms,
} from '#attestation';
import type { EventOf } from '#enclave';
import type { EnclaveClient } from '#libs/enclave-channel';
import { pattern, type AssignedJob, type LeaseGrant } from '#libs/messaging';
import { createBrokerClient, publicPart, type BrokerRelease } from './broker-client.js';
import type { ControlPlane } from './control-plane.js';
import { handOver, tellStopped, type HandOverParts } from './hand-over.js';
import { note } from './note.js';
import { hasResult, type PendingEscrow, type PendingResult } from './pending.js';
import { codePattern, plainText } from './refusal.js';
import { checkTerms } from './terms.js';
import { train, type TrainingParts } from './training.js';
import type { CipherStore } from './store.js';

export interface RunnerParts extends HandOverParts, TrainingParts {
  /** Origins of the key brokers that are asked; absent: any over https, or on this machine. */
  readonly brokers: readonly string[] | undefined;
}

/** One lease in hand, and how far it has come. */
export interface LeaseInHand {
  readonly grant: LeaseGrant;
  /** Nobody waits for it any more; heeded until the escrow is engaged. */
  isCancelled: boolean;
  /** Terms that this host has begun to sign for: from here on a run is owed. */
  engaged: Terms | null;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

/** Works one lease to its end. Never throws: the end is told to the control plane. */
export async function runLease(hand: LeaseInHand, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const { leaseId, fence } = hand.grant;
  try {
    await work(hand, enclave, parts);
  } catch (error) {
    await report(error, { leaseId, fence }, parts.controlPlane);
  }
}

/**
 * Heeds `cancel` and `lost` where that costs nothing: a run that is owed goes on, and is committed, without a lease.
 */
export async function cancelLease(
  hand: LeaseInHand,
  enclave: EnclaveClient,
  { provider }: Pick<RunnerParts, 'provider'>,
): Promise<void> {
  hand.isCancelled = true;
  if (hand.engaged === null || (await provider.isOwed(hand.engaged))) return;
  await enclave.request('cancel', {});
}

type Lease = PendingEscrow['lease'];

async function work(hand: LeaseInHand, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const { job, leaseId, fence } = hand.grant;
  const lease = { leaseId, fence };
  const { provider, pending } = parts;
  if (hand.isCancelled) throw givenBack();
  const terms = parseTermsJson(job.terms);
  const spec = fromBase64(job.spec);
  checkTerms(job, terms, parseJobSpec(spec), provider.own);
  const dataset = parseDatasetManifest(job.datasetManifest);
  const began = performance.now();
  const answer = await attestAndAsk(job, lease, enclave, parts, spec, encodeTerms(terms));
  const attest = (performance.now() - began) / 1000;
  const earlier = pending.find(job.jobId.slice(2));
  if (earlier !== null && hasResult(earlier)) return goOn({ ...earlier, lease, told: false }, parts, { attest });
  await enclave.request('job', {
    spec,
    terms: encodeTerms(terms),
    dataset: utf8(JSON.stringify(datasetManifestJson(dataset))),
    sealedKey: answer.sealedKey,
  });
  const shardsBegan = performance.now();
  await sendShards(dataset, enclave, parts.store);
  const shards = (performance.now() - shardsBegan) / 1000;
  const checkpoint = job.resume === null ? null : await parts.store.getBlob(job.resume.blob);
  const escrow: PendingEscrow = {
    jobId: fromHex(job.jobId),
    lease,
    terms: encodeTerms(terms),
    brokerUrl: job.brokerUrl,
    result: null,
    told: false,
    receipts: [],
  };
  const engage = () => {
    if (hand.isCancelled) throw givenBack();
    hand.engaged = terms;
    pending.save(escrow);
    return provider.engage(terms, answer);
  };
  const { end, transactions, told } = await train(lease, enclave, parts, checkpoint, engage);
  const result = { ...escrow, result: resultOf(end) };
  pending.save(result);
  if (end.type === 'stopped') return stopped(result, end, parts);
  const complete = told().then((receipts) => {
    pending.save({ ...result, receipts });
    return { ...result, receipts };
  });
  await handOver(result, complete, parts, { timings: { attest, shards, ...secondsOf(end.timings) }, transactions });
}

/** A result that was on disk before this lease. */
async function goOn(result: PendingResult, parts: RunnerParts, timings: Record<string, number>): Promise<void> {
  parts.pending.save(result);
  await parts.controlPlane.send(pattern.leaseRunning, result.lease);
  if (result.result.run.outcome !== 0) return tellStopped(result, parts, 'sealed before this lease');
  await handOver(result, Promise.resolve(result), parts, { timings, transactions: [] });
}

function stopped(result: PendingResult, end: EventOf<'stopped'>, parts: RunnerParts): Promise<void> {
  const { step, tensor, expected, got } = end;
  return tellStopped(result, parts, plainText(`expected ${expected}, got ${got}`, 900), { step, tensor });
}

/**
 * Fresh evidence over the broker's nonce, shown to the broker and to the control plane: in this order, because a bundle
 * shows no appraisal that is older than the broker's word.
 */
async function attestAndAsk(
  job: AssignedJob,
  lease: Lease,
  enclave: EnclaveClient,
  { controlPlane, brokers }: RunnerParts,
  spec: Uint8Array,
  terms: Uint8Array,
): Promise<BrokerRelease> {
  const broker = createBrokerClient(job.brokerUrl, brokers);
  const evidence = await enclave.request('attest', { nonce: await broker.challenge(job.jobId) });
  const answer = await broker.release({ spec, terms, evidence });
  await controlPlane.send(pattern.leaseAttested, { ...lease, evidence: base64(evidence) });
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

function resultOf(end: EventOf<'result'> | EventOf<'stopped'>): PendingResult['result'] {
  const { borders, run, seal } = end;
  const delivered = end.type === 'result' ? end : { ciphertext: new Uint8Array(), revealKey: new Uint8Array(32) };
  const { ciphertext, revealKey } = delivered;
  return { ciphertext, revealKey, borders, run, seal };
}

function secondsOf(timings: EventOf<'result'>['timings']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(timings).map(([name, micros]) => [name.replace(/Micros$/, ''), Number(micros) / 1e6]),
  );
}

function givenBack(): CollateralError {
  return new CollateralError('LEASE_GIVEN_BACK', {
    expected: 'a lease that somebody waits for, at a host that goes on',
    got: 'one that was cancelled or lost before its escrow was accepted, or a host that stops',
    rule: 'dispatch protocol',
    action: 'offer the job again if it is still wanted',
  });
}

/** A lease that is no longer ours is somebody else's to end. */
async function report(error: unknown, lease: Lease, controlPlane: ControlPlane): Promise<void> {
  note(`lease ${lease.leaseId}`, error);
  const coded = error instanceof CodedError && codePattern.test(error.code) ? error : null;
  if (coded?.code === 'LEASE_FENCED') return;
  const detail =
    coded === null ? 'the host agent failed' : `expected ${coded.detail.expected}, got ${coded.detail.got}`;
  await controlPlane
    .send(pattern.leaseFail, {
      ...lease,
      code: coded?.code ?? 'HOST_INTERNAL',
      detail: plainText(detail, 900),
      retry: !(error instanceof Rejection),
    })
    .catch((failure: unknown) => note('report', failure));
}
