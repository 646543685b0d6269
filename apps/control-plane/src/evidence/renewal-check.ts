/** That a reported renewal is the key broker's word on fresh evidence of the very session that has the job. */
import { createHash } from 'node:crypto';
import {
  appraisalDigest,
  equalBytes,
  keysDigest,
  parseJobSpec,
  parseSessionEvidence,
  registryDomainSeparator,
  toHex,
} from '#attestation';
import type { RenewedSession } from '#libs/messaging';
import type { Job } from '#libs/persistence';
import { refusal } from '../problem/codes.js';
import type { EvidenceVerdict } from './evidence-appraiser.js';
import { signedByBroker } from './release-check.js';

const rule = 'control-plane README, renewals';

export interface RenewedEvidence {
  readonly evidence: Uint8Array;
  /** 0x-hexadecimal. */
  readonly nonce: string;
}

/**
 * @param first  evidence under which the session got the data key
 * @throws Rejection RENEWAL_SESSION for evidence of other keys, RENEWAL_NONCE for what was shown at the release,
 *   RELEASE_SIGNATURE, SEAL_SIGNATURE, CBOR_*, MESSAGE_SHAPE
 */
export function checkRenewal(
  job: Pick<Job, 'spec' | 'terms'>,
  first: Uint8Array,
  { evidence: encoded, appraisal }: Pick<RenewedSession, 'evidence' | 'appraisal'>,
): RenewedEvidence {
  const evidence = new Uint8Array(Buffer.from(encoded, 'base64'));
  const { binding, nonce } = parseSessionEvidence(evidence);
  const earlier = parseSessionEvidence(new Uint8Array(first));
  const keys = [keysDigest(earlier.binding), keysDigest(binding)] as const;
  if (!equalBytes(...keys)) {
    const [expected, got] = keys.map((digest) => `session ${toHex(digest)}`) as [string, string];
    throw refusal('RENEWAL_SESSION', { expected, got, rule, action: 'Renew the session that has the data key.' });
  }
  if (equalBytes(nonce, earlier.nonce)) throw nonceUsed(`0x${toHex(nonce)}`);
  const { policyDigest } = parseJobSpec(new Uint8Array(job.spec));
  const { chainId, registry, settlementKey: key, provider } = binding;
  const digest = appraisalDigest(registryDomainSeparator({ chainId, verifyingContract: registry }), {
    key,
    policy: policyDigest,
    provider,
    evidence: new Uint8Array(createHash('sha256').update(evidence).digest()),
    notAfter: appraisal.notAfter,
  });
  signedByBroker(job, 'appraisal', digest, appraisal.signature);
  return { evidence, nonce: `0x${toHex(nonce)}` };
}

/** As it is stored. @param at  unix time of the appraisal */
export function renewalColumns(
  { appraisal, result }: RenewedSession,
  { evidence, nonce }: RenewedEvidence,
  { tier, checks }: EvidenceVerdict,
  at: number,
) {
  return {
    ...{ nonce, tier, evidence: Buffer.from(evidence), checks: checks as object, at: String(at) },
    ...{ notAfter: String(appraisal.notAfter), appraisalSignature: appraisal.signature },
    result: Buffer.from(result, 'base64'),
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
