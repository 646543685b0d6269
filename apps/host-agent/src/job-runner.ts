/**
 * One lease from evidence to delivery. The host forwards and stores; it never sees a key or a plaintext byte. Whatever
 * fails is told to the control plane with its code, and whether another attempt can help.
 */
import { CodedError, fromBase64, fromHex, Rejection } from '#attestation/base';
import {
  bringsResult,
  encodeTerms,
  parseJobSpec,
  parseTermsJson,
  workersOf,
  type SealedDataset,
  type Terms,
} from '#attestation/records';
import { type BrokerPatience, type ControlPlane, createBrokerClient, detailOf, failureOf, note } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import { traced, type NodeWatch } from '#libs/telemetry';
import { isInPieces, parseJobManifestText } from '#libs/step';
import { pattern, type LeaseGrant, type NodeRegistered, type RenewedSession } from '#libs/wire';
import type { EventOf } from '#libs/wire/channel';
import type { Attestors } from './attestors.js';
import { handOver, tellStopped, type HandOverParts } from './hand-over.js';
import {
  askForKey,
  type Attested,
  clocksApart,
  giveJob,
  givenBack,
  judgedOf,
  releasedOf,
  sendCheckpoint,
  sendShards,
  sendStart,
} from './job-session.js';
import { owesProofs } from './owed-proofs.js';
import { hasResult, type PendingEscrow, type PendingResult } from './pending.js';
import { startRenewals } from './renewal.js';
import { leadRounds } from './rounds.js';
import { checkTerms } from './terms.js';
import { train, type Ended, type TrainingParts } from './training.js';

export interface RunnerParts extends HandOverParts, Omit<TrainingParts, 'ciphertexts'> {
  /** Origins of the key brokers that are asked; absent: any over https, or on this machine. */
  readonly brokers: readonly string[] | undefined;
  readonly attestors: Attestors;
  /** What the halves of the keys of checkpoints follow from. */
  readonly hostRoot: Uint8Array;
  /** Waits for a broker that is away or busy as long as the settings say and the lease is held. */
  readonly patienceWithBroker: (goesOn: () => boolean) => BrokerPatience;
  readonly watch: NodeWatch;
}

/** One lease in hand, and how far it has come. */
export interface LeaseInHand {
  readonly grant: LeaseGrant;
  readonly node: NodeRegistered;
  /** Nobody waits for it any more; heeded until the escrow is engaged. */
  isCancelled: boolean;
  /** Terms that this host has begun to sign for: from here on a run is owed. */
  engaged: Terms | null;
}

/** Works one lease to its end. Never throws: the end is told to the control plane. */
export async function runLease(hand: LeaseInHand, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const { leaseId, fence, job } = hand.grant;
  const about = { job: job.jobId, leaseId, fence };
  parts.watch.event('lease-taken', about);
  const began = performance.now();
  let code: string | null = null;
  try {
    await traced('lease', hand.grant.job.jobId, () => work(hand, enclave, parts), { attempt: fence });
  } catch (error) {
    code = error instanceof CodedError ? error.code : 'HOST_INTERNAL';
    parts.watch.failure('lease');
    await report(error, { leaseId, fence }, parts.controlPlane);
  }
  parts.watch.event('lease-ended', { ...about, code, seconds: Math.round((performance.now() - began) / 1000) });
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
  checkTerms(job, terms, parseJobSpec(spec), provider.own, await provider.publishEstimate(spec));
  await provider.checkPlan(spec, terms);
  const began = performance.now();
  const answer = await traced('attest', job.jobId, () => attestAndAsk(hand, lease, enclave, parts, terms));
  const attest = (performance.now() - began) / 1000;
  parts.watch.event('keyed', { job: job.jobId, notAfter: answer.release.notAfter });
  const earlier = pending.find(job.jobId.slice(2));
  const owed = owesProofs(terms) && { spec };
  // A version that knew of no owed proofs kept no spec.
  if (earlier !== null && hasResult(earlier))
    return goOn({ ...earlier, ...owed, lease, told: false }, parts, { attest });
  const dataset = await giveJob(job, terms, answer, enclave, parts.hostRoot);
  const broker = createBrokerClient(job.brokerUrl, parts.brokers);
  const { controlPlane } = parts;
  const tell = (renewed: RenewedSession) => {
    parts.watch.event('renewed', { job: job.jobId, notAfter: renewed.lease.notAfter });
    return controlPlane.send(pattern.leaseRenewed, { ...lease, ...renewed });
  };
  const session = { jobId: job.jobId, spec, terms: encodeTerms(terms), enclave, broker, tell };
  const renewals = startRenewals(session, answer.release);
  try {
    await run({ hand, lease, terms, dataset, answer, attest }, enclave, parts);
  } catch (error) {
    throw renewals.refusal() ?? error;
  } finally {
    renewals.stop();
  }
}

interface KeyedLease {
  readonly hand: LeaseInHand;
  readonly lease: Lease;
  readonly terms: Terms;
  readonly dataset: SealedDataset;
  readonly answer: Attested;
  /** Seconds that the attestation took. */
  readonly attest: number;
}

/** From the data key to the result and its money, while the session's attestation is kept fresh. */
async function run(keyed: KeyedLease, enclave: EnclaveClient, parts: RunnerParts): Promise<void> {
  const { hand, lease, terms, dataset, answer, attest } = keyed;
  const { job } = hand.grant;
  const { provider, pending } = parts;
  const shardsBegan = performance.now();
  await traced('shards', job.jobId, async () => {
    await sendStart(job, enclave, parts.store);
    await sendShards(dataset, enclave, parts.store);
  });
  const shards = (performance.now() - shardsBegan) / 1000;
  const isLarge = isInPieces(parseJobManifestText(parseJobSpec(fromBase64(job.spec)).manifest));
  const checkpoint = await sendCheckpoint(job, isLarge, enclave, parts.store);
  const escrow: PendingEscrow = {
    version: 2,
    jobId: fromHex(job.jobId),
    lease,
    terms: encodeTerms(terms),
    ...(owesProofs(terms) && { spec: fromBase64(job.spec) }),
    brokerUrl: job.brokerUrl,
    key: answer.release.key,
    result: null,
    told: false,
    stored: false,
    receipts: [],
  };
  const attestOver = (nonce: Uint8Array) => enclave.request('attest', { nonce });
  const sign = async () => {
    if (hand.isCancelled) throw givenBack();
    hand.engaged = terms;
    pending.save(escrow);
    const session = { leaseId: lease.leaseId, nodeId: hand.node.nodeId, ...judgedOf(answer) };
    pending.saveSession(job.jobId.slice(2), { ...session, release: releasedOf(answer) });
    parts.watch.event('engaged', {
      job: job.jobId,
      escrow: job.escrowId,
      price: String(terms.price),
      stake: String(terms.stake),
    });
    return provider.engage(terms, { ...answer, attestOver });
  };
  // A session after the first is lost work until the chain knows its key; the first trains while its stake is locked.
  const bound = (await provider.hasStarted(terms)) ? await sign() : null;
  const engage = async () => bound ?? sign();
  const running = { ...parts, ciphertexts: pending.ciphertexts };
  const isParallel = workersOf(parseJobSpec(fromBase64(job.spec))) > 1;
  const { end, transactions, receipts, told } = await traced('train', job.jobId, () =>
    isParallel
      ? leadRounds(
          { ...{ job, node: hand.node, lease, answer, enclave, parts: running }, isCancelled: () => hand.isCancelled },
          engage,
        )
      : train(lease, enclave, running, checkpoint, engage),
  );
  parts.watch.event('trained', { job: job.jobId, end: end.type, checkpoints: receipts.length });
  const evaluated = end.evaluations.length > 0 && { evaluations: end.evaluations };
  const result = { ...escrow, ...resultOf(end), receipts, ...evaluated };
  pending.save(result);
  if (end.type === 'stopped') return stopped(result, end, parts);
  const complete = told().then((untold) => ({ ...result, receipts: untold }));
  const timings = { attest, shards, ...secondsOf(end.timings) };
  await traced('hand over', job.jobId, () => handOver(result, complete, parts, { timings, transactions }));
  parts.watch.event('delivered', { job: job.jobId, ...timings });
}

/** A result that was on disk before this lease. */
async function goOn(result: PendingResult, parts: RunnerParts, timings: Record<string, number>): Promise<void> {
  parts.pending.save(result);
  await parts.controlPlane.send(pattern.leaseRunning, result.lease);
  if (!bringsResult(result.result.run)) return tellStopped(result, parts, 'sealed before this lease');
  await handOver(result, Promise.resolve(result), parts, { timings, transactions: [] });
}

function stopped(result: PendingResult, end: EventOf<'stopped'>, parts: HandOverParts): Promise<void> {
  const { step, tensor, expected, got, action } = end;
  return tellStopped(result, parts, detailOf({ expected, got, action }), { step, tensor });
}

/**
 * Fresh evidence over the broker's nonce, shown to the broker and to the control plane: in this order, because a bundle
 * shows no appraisal that is older than the broker's word. Attestors are asked at the same time.
 */
async function attestAndAsk(
  hand: LeaseInHand,
  lease: Lease,
  enclave: EnclaveClient,
  { controlPlane, brokers, attestors, patienceWithBroker }: RunnerParts,
  terms: Terms,
): Promise<Attested> {
  const patience = patienceWithBroker(() => !hand.isCancelled);
  const asked = { brokers, attestors, patience };
  const answer = await askForKey(hand.grant.job, terms, enclave, asked).catch((error: unknown) => {
    throw hand.isCancelled ? givenBack() : error;
  });
  await controlPlane.send(pattern.leaseAttested, { ...lease, ...judgedOf(answer) });
  await controlPlane.send(pattern.leaseKeyed, { ...lease, release: releasedOf(answer) }).catch(clocksApart);
  return answer;
}

function resultOf(end: Ended): Pick<PendingResult, 'result' | 'file'> {
  const { borders, run, keys, seal } = end;
  const nothing = new Uint8Array();
  const delivered = end.type === 'result' ? end : { ciphertext: nothing, revealKey: new Uint8Array(32) };
  const { ciphertext, revealKey } = delivered;
  const sealed = { revealKey, borders, run, keys, seal };
  if (ciphertext instanceof Uint8Array) return { result: { ciphertext, ...sealed } };
  return { result: { ciphertext: nothing, ...sealed }, file: ciphertext };
}

function secondsOf(timings: EventOf<'result'>['timings']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(timings).map(([name, micros]) => [name.replace(/Micros$/, ''), Number(micros) / 1e6]),
  );
}

/** A lease that is no longer ours is somebody else's to end. */
async function report(error: unknown, lease: Lease, controlPlane: ControlPlane): Promise<void> {
  note(`lease ${lease.leaseId}`, error);
  const failure = failureOf(error, 'HOST_INTERNAL');
  if (failure.code === 'LEASE_FENCED') return;
  await controlPlane
    .send(pattern.leaseFail, { ...lease, ...failure, retry: !(error instanceof Rejection) })
    .catch((problem: unknown) => note('report', problem));
}
