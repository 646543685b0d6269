/** What release and renewal demand alike: an ordered job, and a session whose fresh evidence the owner's policies accept. */
import { createHash } from 'node:crypto';
import {
  appraisalDigest,
  isZero,
  registryDomainSeparator,
  signRecoverable,
  type Appraisal,
  type SessionEvidence,
  type SessionLease,
} from '#attestation';
import { SessionRefused, type Appraiser, type SignedResult } from './appraiser.js';
import { authoriseJob, refused, releasable, requireEscrow, requireSame } from './authorise.js';
import type { OrderedJob } from './authorise.js';
import type { BrokerConfig } from './config.js';
import type { SessionBook } from './sessions.js';

export interface Asked extends OrderedJob {
  readonly evidence: SessionEvidence;
  readonly evidenceBytes: Uint8Array;
  /** Digest of the session's keys. */
  readonly session: Uint8Array;
}

/** The broker's word on fresh evidence of a session. */
export interface Appraised {
  readonly lease: SessionLease;
  /** What the registry on chain takes, also for a key that it knows: it is prolonged. */
  readonly appraisal: Appraisal;
  readonly appraisalSignature: Uint8Array;
  readonly result: SignedResult;
}

export interface JudgeParts {
  readonly config: BrokerConfig;
  readonly appraiser: Appraiser;
  readonly sessions: SessionBook;
}

/**
 * @param issuedAt of the challenge, unix seconds
 * @returns the data key that is asked for, and what may be said of the session
 * @throws Rejection of authorise.ts, BROKER_SESSION_ENDED, SessionRefused; CollateralError when the chain is missing
 */
export async function judgeSession(
  { config, appraiser, sessions }: JudgeParts,
  asked: Asked,
  issuedAt: number,
  at: number,
): Promise<{ readonly key: Uint8Array; readonly appraised: Appraised }> {
  const { spec, terms, evidence, session } = asked;
  const { binding, nonce } = evidence;
  sessions.checkOpen(session);
  const key = authorise(config, appraiser.policyDigest, asked);
  await requireEscrow(config, terms, releasable);
  const result = await appraiser.appraise(evidence, at).catch((error: unknown) => {
    if (error instanceof SessionRefused && error.isOfSession) sessions.end(session, at, error.code);
    throw error;
  });
  const appraisal: Appraisal = {
    key: binding.settlementKey,
    policy: spec.policyDigest,
    provider: binding.provider,
    evidence: new Uint8Array(createHash('sha256').update(asked.evidenceBytes).digest()),
    // Counted from the challenge: whoever else appraises this evidence does so after it, and before this.
    notAfter: Math.min(issuedAt + config.validForSeconds, result.notAfter - (at - issuedAt)),
  };
  const lease = { nonce, grantedAt: at, notAfter: appraisal.notAfter };
  const { chainId, registry } = config.settlement;
  const domain = registryDomainSeparator({ chainId, verifyingContract: registry });
  const appraisalSignature = signRecoverable(appraisalDigest(domain, appraisal), config.signingSecret);
  return { key, appraised: { lease, appraisal, appraisalSignature, result } };
}

/** @returns the data key that is asked for @throws Rejection naming the first thing the data owner did not allow */
function authorise(config: BrokerConfig, policyDigest: Uint8Array, asked: Asked): Uint8Array {
  const key = authoriseJob(config, asked);
  const { spec, terms, evidence } = asked;
  const { chainId, registry } = config.settlement;
  const { binding } = evidence;
  requireSame('BROKER_POLICY', 'policy', policyDigest, spec.policyDigest);
  requireSame('BROKER_POLICY', 'policy of the escrow', policyDigest, terms.policy);
  requireSame('BROKER_CHAIN', 'enclave registry', registry, binding.registry);
  if (binding.chainId !== chainId) throw refused('BROKER_CHAIN', `chain ${chainId}`, `${binding.chainId}`);
  if (!isZero(terms.provider)) requireSame('BROKER_PROVIDER', 'provider', terms.provider, binding.provider);
  return key;
}
