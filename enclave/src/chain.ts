/**
 * Checks who signed the borders of a run: each but the first has a receipt by a session that the job's key broker
 * released. Without this a host that makes a checkpoint could have borders sealed that nobody trained.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, Rejection, toHex } from '#attestation/base';
import {
  checkpointSessionsMax,
  encodeRoundStatement,
  encodeStepStatement,
  keysDigest,
  parseEvaluation,
  runKeysOf,
  verifyEvaluation,
  verifyReceipt,
  verifyRoundReceipt,
  workersOf,
  type Checkpoint,
  type Link,
  type ReleasedSession,
  type StepStatement,
} from '#attestation/records';
import { divideSteps, manifestDigest } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { checkEvaluations, type SignedEvaluation } from './evaluated.js';
import { checkpointRefused } from './failure.js';
import { checkReleased } from './grant.js';
import type { ReadyJob } from './ready-job.js';

/** Receipts and sessions behind the borders so far. */
export interface Chain {
  readonly links: readonly Link[];
  readonly sessions: readonly ReleasedSession[];
  /** In the order of their steps. */
  readonly evaluations: readonly SignedEvaluation[];
}

export const noChain: Chain = { links: [], sessions: [], evaluations: [] };

type ChainedJob = Pick<ReadyJob, 'jobId' | 'spec' | 'manifest' | 'terms' | 'own' | 'verified'>;

/** What whoever trained segment `index` must have signed. A data-parallel job's segments are its rounds. */
export function segmentStatement(
  { jobId, spec, manifest }: Pick<ChainedJob, 'jobId' | 'spec' | 'manifest'>,
  borders: readonly Uint8Array[],
  index: number,
): StepStatement {
  const { roundSteps } = divideSteps(manifest, spec);
  const stepFrom = index * roundSteps;
  return {
    jobId,
    programDigest: manifestDigest(manifest),
    datasetRoot: spec.dataset.root,
    stepFrom,
    stepCount: Math.min(roundSteps, manifest.steps - stepFrom),
    weightsBefore: borders[index]!,
    weightsAfter: borders[index + 1]!,
  };
}

/** @throws Rejection CHECKPOINT_SESSION, CHECKPOINT_RECEIPT, CHECKPOINT_EVALUATIONS */
export async function checkChain(
  job: ChainedJob,
  checkpoint: Pick<Checkpoint, 'step' | 'borders' | 'links' | 'sessions' | 'evaluations'>,
): Promise<Chain> {
  const { borders, links, sessions, evaluations = [] } = checkpoint;
  for (const session of sessions) checkReleased(job, session, job.own.binding);
  if (links.length !== borders.length - 1) {
    throw checkpointRefused('CHECKPOINT_RECEIPT', `${borders.length - 1} receipts`, `${links.length}`);
  }
  for (const [index, link] of links.entries()) {
    const session = sessions[link.session];
    if (session === undefined) {
      throw checkpointRefused('CHECKPOINT_SESSION', `a session below ${sessions.length}`, `${link.session}`);
    }
    await checkLink(job, borders, index, link, session.binding.receiptKey);
  }
  for (const one of evaluations) await checkSigned(job, sessions, one);
  checkEvaluations(job, checkpoint);
  return { links, sessions, evaluations };
}

async function checkSigned(
  job: ChainedJob,
  sessions: readonly ReleasedSession[],
  { session: at, statement, receipt }: SignedEvaluation,
): Promise<void> {
  const session = sessions[at];
  if (session === undefined) {
    throw checkpointRefused('CHECKPOINT_SESSION', `a session below ${sessions.length}`, `${at}`);
  }
  const said = parseEvaluation(statement);
  const known = toHex(sha256(concatBytes(session.binding.receiptKey, sha256(statement), receipt)));
  if (job.verified.has(known)) return;
  try {
    await verifyEvaluation(receipt, said, session.binding.receiptKey);
  } catch (error) {
    const got = error instanceof Rejection ? error.message.slice(0, 400) : 'bytes that are none';
    throw checkpointRefused('CHECKPOINT_RECEIPT', `a receipt over the evaluation at step ${said.step}`, got);
  }
  job.verified.add(known);
}

async function checkLink(
  job: ChainedJob,
  borders: readonly Uint8Array[],
  index: number,
  { receipt, partials }: Link,
  receiptKey: Uint8Array,
): Promise<void> {
  const step = segmentStatement(job, borders, index);
  const isRound = workersOf(job.spec) > 1;
  if (isRound !== (partials !== undefined)) {
    throw checkpointRefused('CHECKPOINT_RECEIPT', isRound ? 'a round and its partials' : 'a segment', 'the other');
  }
  const said = partials === undefined ? encodeStepStatement(step) : encodeRoundStatement({ ...step, partials });
  const known = toHex(sha256(concatBytes(receiptKey, sha256(said), receipt)));
  if (job.verified.has(known)) return;
  try {
    if (partials === undefined) await verifyReceipt(receipt, step, receiptKey);
    else await verifyRoundReceipt(receipt, { ...step, partials }, receiptKey);
  } catch (error) {
    const got = error instanceof Rejection ? error.message.slice(0, 400) : 'bytes that are none';
    throw checkpointRefused('CHECKPOINT_RECEIPT', `a receipt over segment ${index} by the session it names`, got);
  }
  job.verified.add(known);
}

/** The chain with one border more, which this session signed. @throws Rejection CHECKPOINT_SESSION */
export function linked(chain: Chain, own: ReleasedSession, signed: Omit<Link, 'session'>): Chain {
  const { session, sessions } = sessionOf(chain, own);
  return { ...chain, links: [...chain.links, { session, ...signed }], sessions };
}

/** Where a session stands among those of the chain, added where it is new. @throws Rejection CHECKPOINT_SESSION */
export function sessionOf(
  { sessions }: Chain,
  own: ReleasedSession,
): { readonly session: number; readonly sessions: readonly ReleasedSession[] } {
  const digest = keysDigest(own.binding);
  const at = sessions.findIndex(({ binding }) => equalBytes(keysDigest(binding), digest));
  if (at >= 0) return { session: at, sessions };
  if (sessions.length >= checkpointSessionsMax) {
    throw checkpointRefused('CHECKPOINT_SESSION', `at most ${checkpointSessionsMax} sessions in one job`, 'one more');
  }
  return { session: sessions.length, sessions: [...sessions, own] };
}

/** Evaluations as they leave the enclave: each with the receipt key of its session. */
export function toldEvaluations({ evaluations, sessions }: Chain): EventOf<'result'>['evaluations'] {
  return evaluations.map(({ session, statement, receipt }) => ({
    ...{ key: sessions[session]!.binding.receiptKey, statement, receipt },
  }));
}

/** Settlement keys behind the borders, and the sealer's: what `Run.keys` is the digest of. */
export function keysBehind({ links, sessions }: Chain, sealer: Uint8Array): Uint8Array[] {
  const used = [...new Set(links.map(({ session }) => session))];
  return runKeysOf([...used.map((session) => sessions[session]!.binding.settlementKey), sealer]);
}
