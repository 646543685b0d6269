/**
 * The data owner as Relying Party: appraises a session under the owner's own policy, and under what the owner demands
 * beyond it since, and signs what was found.
 */
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
  weakestTier,
  type AppraisalPolicy,
  type AttestationResult,
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

/** APPRAISAL_REFUSED naming every check that is not met. */
export class SessionRefused extends Rejection {
  /** Genuine evidence by a device, over the broker's nonce and these very keys: it speaks of this session. */
  readonly isOfSession: boolean;

  constructor({ checks }: AttestationResult, detail: Rejection['detail']) {
    super('APPRAISAL_REFUSED', detail);
    this.isOfSession = checks.some(({ code, status }) => code === 'REPORT_DATA_MISMATCH' && status === 'met');
  }
}

export interface Appraiser {
  /** SHA-256 of the policy's deterministic encoding; what a job spec names. */
  readonly policyDigest: Uint8Array;
  /** @throws SessionRefused; ConfigurationError BROKER_CONFIG */
  appraise(evidence: SessionEvidence, at: number): Promise<SignedResult>;
}

export async function createAppraiser(config: BrokerConfig): Promise<Appraiser> {
  const policy = parsePolicy(new TextDecoder().decode(config.policyFile));
  const keyId = await ed25519.getPublicKeyAsync(config.resultSecret);
  return {
    policyDigest: fromHex(documentDigest(policy)),
    async appraise(evidence, at) {
      const collateral = config.collateral();
      const judge = (under: AppraisalPolicy): Promise<AttestationResult> =>
        appraise({
          evidence: evidenceOfSession(evidence),
          endorsements: endorsementsOfSession(evidence, collateral),
          policy: under,
          nonce: evidence.nonce,
          at,
        });
      const restrictions = config.restrictions?.() ?? null;
      const result = await judge(policy);
      const results = restrictions === null ? [result] : [result, await judge(restrictions)];
      for (const each of results) requireAccepted(each);
      const signed = await signResult(result, keyId, (message) => ed25519.signAsync(message, config.resultSecret));
      const tier = weakestTier(results.map((each) => each.tier));
      return { tier, notAfter: Math.min(...results.map((each) => each.notAfter)), signed };
    },
  };
}

function requireAccepted(result: AttestationResult): void {
  const { tier, checks, policyId } = result;
  if (tier === 'affirming' || tier === 'warning') return;
  const open = checks.filter(({ status }) => status !== 'met' && status !== 'warned');
  throw new SessionRefused(result, {
    expected: `evidence that policy ${policyId} accepts`,
    got: `${tier}: ${open.map(({ code, status }) => `${code} (${status})`).join(', ')}`,
    rule: open[0]?.rule ?? 'attestation SPEC, appraisal',
    action: open[0]?.action || "meet the data owner's policy",
  });
}
