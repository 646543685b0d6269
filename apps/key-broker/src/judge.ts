/**
 * What release, renewal and appraisal demand alike: fresh evidence of a session that policies accept, made by the
 * machine that the session was on before, whose devices serve no session of another provider.
 */
import { createHash } from 'node:crypto';
import { Rejection, signRecoverable } from '#attestation/base';
import {
  decodeTerms,
  escrowIdOf,
  jobIdOf,
  keysDigest,
  parseJobSpec,
  parseSessionEvidence,
  resultDigest,
  verifySessionProof,
  type SessionEvidence,
} from '#attestation/records';
import { SessionRefused, type Appraiser, type SignedResult } from './appraiser.js';
import type { OrderedJob } from './authorise.js';
import type { SpeakerConfig } from './config.js';
import { decide } from './decide.js';
import type { Journal } from './journal.js';
import type { JournalHeads } from './journal-heads.js';
import type { NonceStore } from './nonces.js';
import type { MachineIdentity } from './session-index.js';
import { exclusiveOf, type SessionStore } from './sessions.js';

export interface EvidenceRequest {
  readonly spec: Uint8Array;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly evidence: Uint8Array;
}

export interface Asked extends OrderedJob {
  readonly evidence: SessionEvidence;
  readonly evidenceBytes: Uint8Array;
  /** Digest of the session's keys. */
  readonly session: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
}

export interface JudgeParts {
  readonly config: SpeakerConfig;
  readonly nonces: NonceStore;
  readonly appraiser: Appraiser;
  readonly sessions: SessionStore;
  readonly journal: Journal;
  readonly heads: JournalHeads;
}

export interface VouchedResult extends SignedResult {
  /** This party's account signs it over `resultDigest`; 65 bytes. */
  readonly signature: Uint8Array;
}

export interface Judged {
  readonly result: VouchedResult;
  /** SHA-256 of the evidence's bytes. */
  readonly evidence: Uint8Array;
  /** Unix seconds until which this party's word on it holds. */
  readonly notAfter: number;
}

/** @throws Rejection of the parsers, NONCE_*, EVIDENCE_PROOF, all of which change nothing; what `judged` throws */
export function decideOnEvidence<T>(
  { journal, nonces }: JudgeParts,
  request: EvidenceRequest,
  at: number,
  judged: (asked: Asked, issuedAt: number) => Promise<T>,
): Promise<T> {
  const spec = parseJobSpec(request.spec);
  const terms = decodeTerms(request.terms);
  const evidence = parseSessionEvidence(request.evidence);
  const [jobId, session] = [jobIdOf(spec), keysDigest(evidence.binding)];
  const asked: Asked = {
    spec,
    terms,
    job: escrowIdOf(terms),
    jobId,
    evidence,
    session,
    evidenceBytes: request.evidence,
    at,
  };
  const prove = (): Uint8Array => {
    verifySessionProof(evidence);
    return session;
  };
  return decide({ journal, nonces, nonce: evidence.nonce, jobId, at, prove }, (issuedAt) => judged(asked, issuedAt));
}

/**
 * A session that shows evidence of its own that is refused, or of another machine, ends for good. A policy under which
 * it was never let in ends nothing: whoever orders a job chooses one of those that a party appraises under.
 *
 * @param issuedAt of the challenge, unix seconds
 * @throws Rejection BROKER_POLICY, BROKER_SESSION_ENDED, BROKER_SESSION_MACHINE, BROKER_DEVICE_IN_USE, SessionRefused
 */
export async function judgeSession(
  { config, appraiser, sessions }: JudgeParts,
  { spec, evidence, session, evidenceBytes, at }: Asked,
  issuedAt: number,
): Promise<Judged> {
  const { provider } = evidence.binding;
  sessions.checkOpen(session);
  const devicesInUse = sessions.devicesOfOthers({ session, provider }, at);
  const asked = { session, policy: spec.policyDigest };
  const result = await ending(sessions, asked, at, async () => {
    const found = await appraiser.appraise({ evidence, policyDigest: spec.policyDigest, devicesInUse, at });
    sessions.checkMachine(session, found.machine);
    return found;
  });
  checkIsFree(devicesInUse, result.machine);
  const digest = new Uint8Array(createHash('sha256').update(evidenceBytes).digest());
  const signature = signRecoverable(resultDigest(digest, result.signed), config.signingSecret);
  return {
    result: { ...result, signature },
    evidence: digest,
    // Counted from the challenge: whoever else appraises this evidence does so after it, and before this.
    notAfter: Math.min(issuedAt + config.validForSeconds, result.notAfter - (at - issuedAt)),
  };
}

/**
 * That nothing came between verdict and word, while the chain was asked: to be called where the word is recorded.
 * @throws Rejection BROKER_SESSION_ENDED, BROKER_DEVICE_IN_USE
 */
export function judgeAgain({ sessions }: JudgeParts, { session, evidence, at }: Asked, { result }: Judged): void {
  sessions.checkOpen(session);
  const { provider } = evidence.binding;
  checkIsFree(sessions.devicesOfOthers({ session, provider }, at), result.machine);
}

interface UnderPolicy {
  readonly session: Uint8Array;
  readonly policy: Uint8Array;
}

async function ending<T>(
  sessions: SessionStore,
  { session, policy }: UnderPolicy,
  at: number,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isRefused = error instanceof SessionRefused && error.isOfSession && sessions.isUnder(session, policy);
    if (isRefused || isOfAnotherMachine(error)) sessions.end(session, at, (error as Rejection).code);
    throw error;
  }
}

const isOfAnotherMachine = (error: unknown): boolean =>
  error instanceof Rejection && error.code === 'BROKER_SESSION_MACHINE';

function checkIsFree(inUse: ReadonlySet<string>, machine: MachineIdentity): void {
  const taken = exclusiveOf(machine).find((one) => inUse.has(one));
  if (taken === undefined) return;
  throw new Rejection('BROKER_DEVICE_IN_USE', {
    expected: 'a guest and GPUs that serve no live session of another provider',
    got: `${taken === machine.reportId ? 'REPORT_ID' : 'GPU'} ${taken}`,
    rule: 'key broker, devices of live sessions',
    action: 'end the other session first, or boot a guest of its own for this provider',
  });
}
