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
  runKeysOf,
  verifyReceipt,
  verifyRoundReceipt,
  workersOf,
  type Checkpoint,
  type Link,
  type ReleasedSession,
  type StepStatement,
} from '#attestation/records';
import { divideSteps, manifestDigest } from '#libs/step';
import { checkReleased } from './grant.js';
import type { ReadyJob } from './ready-job.js';

/** Receipts and sessions behind the borders so far. */
export interface Chain {
  readonly links: readonly Link[];
  readonly sessions: readonly ReleasedSession[];
}

export const noChain: Chain = { links: [], sessions: [] };

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

/** @throws Rejection CHECKPOINT_SESSION, CHECKPOINT_RECEIPT */
export async function checkChain(job: ChainedJob, checkpoint: Checkpoint): Promise<Chain> {
  const { borders, links, sessions } = checkpoint;
  for (const session of sessions) checkReleased(job, session, job.own.binding);
  if (links.length !== borders.length - 1) {
    throw refused('CHECKPOINT_RECEIPT', `${borders.length - 1} receipts`, `${links.length}`);
  }
  for (const [index, link] of links.entries()) {
    const session = sessions[link.session];
    if (session === undefined) {
      throw refused('CHECKPOINT_SESSION', `a session below ${sessions.length}`, `${link.session}`);
    }
    await checkLink(job, borders, index, link, session.binding.receiptKey);
  }
  return { links, sessions };
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
    throw refused('CHECKPOINT_RECEIPT', isRound ? 'a round and its partials' : 'a segment', 'the other');
  }
  const said = partials === undefined ? encodeStepStatement(step) : encodeRoundStatement({ ...step, partials });
  const known = toHex(sha256(concatBytes(receiptKey, sha256(said), receipt)));
  if (job.verified.has(known)) return;
  try {
    if (partials === undefined) await verifyReceipt(receipt, step, receiptKey);
    else await verifyRoundReceipt(receipt, { ...step, partials }, receiptKey);
  } catch (error) {
    const got = error instanceof Rejection ? error.message.slice(0, 400) : 'bytes that are none';
    throw refused('CHECKPOINT_RECEIPT', `a receipt over segment ${index} by the session it names`, got);
  }
  job.verified.add(known);
}

/** The chain with one border more, which this session signed. @throws Rejection CHECKPOINT_SESSION */
export function linked({ links, sessions }: Chain, own: ReleasedSession, signed: Omit<Link, 'session'>): Chain {
  const session = keysDigest(own.binding);
  const at = sessions.findIndex(({ binding }) => equalBytes(keysDigest(binding), session));
  if (at >= 0) return { links: [...links, { session: at, ...signed }], sessions };
  if (sessions.length >= checkpointSessionsMax) {
    throw refused('CHECKPOINT_SESSION', `at most ${checkpointSessionsMax} sessions in one job`, 'one more');
  }
  return { links: [...links, { session: sessions.length, ...signed }], sessions: [...sessions, own] };
}

/** Settlement keys behind the borders, and the sealer's: what `Run.keys` is the digest of. */
export function keysBehind({ links, sessions }: Chain, sealer: Uint8Array): Uint8Array[] {
  const used = [...new Set(links.map(({ session }) => session))];
  return runKeysOf([...used.map((session) => sessions[session]!.binding.settlementKey), sealer]);
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}
