/** Appraises under the policy that the client submitted with the job, as the data owner's key broker does under its own. */
import {
  appraise,
  decodePolicy,
  documentDigest,
  endorsementsOfRecord,
  endorsementsOfSession,
  evidenceOfSession,
} from '#attestation';
import { fromHex, toHex } from '#attestation/base';
import { parseEndorsements, parseSessionEvidence, type SessionEvidence } from '#attestation/records';
import type { EvidenceAppraiser, EvidenceVerdict, SessionBounds } from './evidence-appraiser.js';

export class PolicyAppraiser implements EvidenceAppraiser {
  policyDigest(policy: Uint8Array): Uint8Array {
    return fromHex(documentDigest(decodePolicy(new Uint8Array(policy))));
  }

  async appraise({
    evidence,
    endorsements,
    devicesInUse,
    policy,
    bound,
    at,
  }: Parameters<EvidenceAppraiser['appraise']>[0]): Promise<EvidenceVerdict> {
    const session = parseSessionEvidence(new Uint8Array(evidence));
    const result = await appraise({
      evidence: evidenceOfSession(session),
      endorsements: endorsementsOfSession(session, endorsementsOfRecord(parseEndorsements(endorsements))),
      devicesInUse,
      policy: decodePolicy(new Uint8Array(policy)),
      // Freshness is the key broker's to judge: it gave this nonce and spends it once.
      nonce: session.nonce,
      at,
    });
    const binding = bindingCheck(session, bound);
    const checks = [...result.checks.map(({ code, status, got, rule }) => ({ code, status, got, rule })), binding];
    const { devices } = result;
    if (binding.status !== 'met') return { tier: 'contraindicated', checks, receiptKey: null, devices };
    return { tier: result.tier, checks, receiptKey: result.keys?.receiptKey ?? null, devices };
  }
}

function bindingCheck({ binding }: SessionEvidence, bound: SessionBounds): EvidenceVerdict['checks'][number] {
  const got = `0x${toHex(binding.provider)} on chain ${binding.chainId}`;
  const isMet = got === `${bound.provider} on chain ${bound.chainId}`;
  const rule = `The session is bound to the account of its node and to the chain of the job (${bound.provider} on chain ${bound.chainId}).`;
  return { code: 'SESSION_BINDING', status: isMet ? 'met' : 'refused', got, rule };
}
