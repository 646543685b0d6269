/** That a reported renewal is the key broker's word on fresh evidence of the very session that has the job. */
import { createHash } from 'node:crypto';
import { equalBytes, fromHex, to0x, toHex } from '#attestation/base';
import { keysDigest, leaseDigest, parseSessionEvidence, verifySessionProof } from '#attestation/records';
import type { RenewedSession } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';
import { openJob } from '../jobs/open-job.js';
import type { EvidenceVerdict } from './evidence-appraiser.js';
import { checkResult, domainOf, signedByBroker, type ReleasedJob } from './release-check.js';

const rule = 'apps/control-plane/README.md, renewals';

export interface RenewedEvidence {
  readonly evidence: Uint8Array;
  /** 0x-hexadecimal. */
  readonly nonce: string;
}

/**
 * @param first  evidence under which the session got the data key
 * @throws Rejection RENEWAL_SESSION for evidence of other keys, RENEWAL_NONCE for what was shown at the release,
 *   RELEASE_SIGNATURE, EVIDENCE_PROOF, SIGNATURE_*, CBOR_*, MESSAGE_SHAPE
 */
export function checkRenewal(
  job: ReleasedJob,
  first: Uint8Array,
  renewed: Omit<RenewedSession, 'endorsements'>,
): RenewedEvidence {
  const evidence = new Uint8Array(Buffer.from(renewed.evidence, 'base64'));
  const session = parseSessionEvidence(evidence);
  verifySessionProof(session);
  const { binding, nonce } = session;
  const earlier = parseSessionEvidence(new Uint8Array(first));
  const keys = [keysDigest(earlier.binding), keysDigest(binding)] as const;
  if (!equalBytes(...keys)) {
    const [expected, got] = keys.map((digest) => `session ${toHex(digest)}`) as [string, string];
    throw refusal('RENEWAL_SESSION', { expected, got, rule, action: 'Renew the session that has the data key.' });
  }
  if (equalBytes(nonce, earlier.nonce)) throw nonceUsed(to0x(nonce));
  const terms = openJob(job).terms;
  const { grantedAt, notAfter, signature } = renewed.lease;
  const digest = new Uint8Array(createHash('sha256').update(evidence).digest());
  const lease = leaseDigest(domainOf(job), {
    ...{ job: fromHex(job.escrowId), session: keys[1], policy: terms.policy },
    ...{ evidence: digest, nonce, grantedAt, notAfter },
  });
  signedByBroker(terms, 'lease', lease, signature);
  checkResult(terms, digest, renewed);
  return { evidence, nonce: to0x(nonce) };
}

/** As it is stored. @param at  unix time of the appraisal @param endorsements  digest of what it rested on */
export function renewalColumns(
  { lease, result, resultSignature }: RenewedSession,
  { evidence, nonce }: RenewedEvidence,
  { tier, checks }: EvidenceVerdict,
  at: number,
  endorsements: string,
) {
  return {
    ...{ nonce, tier, evidence: Buffer.from(evidence), checks: checks as object, at: String(at), endorsements },
    ...{ grantedAt: String(lease.grantedAt), notAfter: String(lease.notAfter), signature: lease.signature },
    ...{ result: Buffer.from(result, 'base64'), resultSignature },
  };
}

export function nonceUsed(nonce: string) {
  return refusal('RENEWAL_NONCE', {
    expected: 'evidence over a nonce that was not used before',
    got: nonce,
    rule,
    action: 'Ask the key broker for a new challenge.',
  });
}
