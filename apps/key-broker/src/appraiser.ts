/** The data owner as Relying Party: appraises a session under the owner's own policy and signs what was found. */
import * as ed25519 from '@noble/ed25519';
import {
  appraise,
  endorsementsOfSession,
  evidenceOfSession,
  fromHex,
  documentDigest,
  parsePolicy,
  Rejection,
  signResult,
  type SessionEvidence,
  type Tier,
} from '#attestation';
import type { BrokerConfig } from './config.js';

export interface SignedResult {
  readonly tier: Tier;
  /** Unix seconds until which the result may be relied on. */
  readonly notAfter: number;
  /** EAR as COSE_Sign1 by the broker's result key. */
  readonly signed: Uint8Array;
}

export interface Appraiser {
  /** SHA-256 of the policy's deterministic encoding; what a job spec names. */
  readonly policyDigest: Uint8Array;
  /** @throws Rejection APPRAISAL_REFUSED naming every check that is not met */
  appraise(evidence: SessionEvidence, at: number): Promise<SignedResult>;
}

export async function createAppraiser(config: BrokerConfig): Promise<Appraiser> {
  const policy = parsePolicy(new TextDecoder().decode(config.policyFile));
  const keyId = await ed25519.getPublicKeyAsync(config.resultSecret);
  return {
    policyDigest: fromHex(documentDigest(policy)),
    async appraise(evidence, at) {
      const result = await appraise({
        evidence: evidenceOfSession(evidence),
        endorsements: endorsementsOfSession(evidence, config.collateral()),
        policy,
        nonce: evidence.nonce,
        at,
      });
      if (result.tier !== 'affirming' && result.tier !== 'warning') {
        const open = result.checks.filter(({ status }) => status !== 'met' && status !== 'warned');
        throw new Rejection('APPRAISAL_REFUSED', {
          expected: `evidence that policy ${policy.id} accepts`,
          got: `${result.tier}: ${open.map(({ code, status }) => `${code} (${status})`).join(', ')}`,
          rule: open[0]?.rule ?? 'attestation SPEC, appraisal',
          action: open[0]?.action || "meet the data owner's policy",
        });
      }
      const signed = await signResult(result, keyId, (message) => ed25519.signAsync(message, config.resultSecret));
      return { tier: result.tier, notAfter: result.notAfter, signed };
    },
  };
}
