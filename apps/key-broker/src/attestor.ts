/**
 * An attestor: appraises sessions for jobs whose terms list its account, under policies of its own list, over
 * challenges of its own, and signs what it found. It has no data keys.
 */
import { signRecoverable, to0x, toHex } from '#attestation/base';
import { appraisalDigest, domainSeparator, type Appraisal } from '#attestation/records';
import { traced } from '#libs/telemetry';
import { accountOf, checkOrdered, checkSession, refused, releasable, requireEscrow } from './authorise.js';
import {
  decideOnEvidence,
  judgeAgain,
  judgeSession,
  type Asked,
  type EvidenceRequest,
  type JudgeParts,
  type VouchedResult,
} from './judge.js';

interface SignedAppraisal {
  readonly appraisal: Appraisal;
  /** The attestor's account signs it over the Appraisal in the escrow's domain, 65 bytes. */
  readonly appraisalSignature: Uint8Array;
  readonly result: VouchedResult;
}

export interface Attestor {
  readonly account: Uint8Array;
  /**
   * @throws Rejection NONCE_*, EVIDENCE_PROOF, BROKER_ACCOUNT, BROKER_POLICY, SessionRefused, those of authorise.ts;
   *   CollateralError when material for a verdict, or the chain, is missing
   */
  appraise(request: EvidenceRequest, at: number): Promise<SignedAppraisal>;
}

export function createAttestor(parts: JudgeParts): Attestor {
  const { config, sessions, journal } = parts;
  const account = accountOf(config);
  const { chainId, contract } = config.settlement;
  const domain = domainSeparator({ chainId, verifyingContract: contract });

  async function judge(asked: Asked, issuedAt: number): Promise<SignedAppraisal> {
    const { spec, terms, evidence, job, jobId, session, at } = asked;
    const { settlementKey: key, provider } = evidence.binding;
    if (!terms.attestors.some((listed) => toHex(listed) === toHex(account))) {
      throw refused('BROKER_ACCOUNT', `terms that list attestor ${toHex(account)}`, `${terms.attestors.length} others`);
    }
    sessions.checkOpen(session);
    const { clients } = config;
    if (clients !== undefined && !clients.has(toHex(terms.client))) {
      throw refused('BROKER_CLIENT', 'an escrow of a client that the attestor serves', toHex(terms.client));
    }
    checkOrdered(config, asked);
    checkSession(config, asked);
    const judged = await judgeSession(parts, asked, issuedAt);
    const { result, notAfter, evidence: digest } = judged;
    await requireEscrow(config, terms, releasable);
    const { machine, tier } = result;
    const ids = {
      job: to0x(job),
      jobId: to0x(jobId),
      session: to0x(session),
      key: to0x(key),
      provider: to0x(provider),
    };
    judgeAgain(parts, asked, judged);
    const policy = to0x(spec.policyDigest);
    journal.append({ at, decision: 'appraised', ...ids, policy, notAfter, tier, machine, evidence: to0x(digest) });
    sessions.supersede({ session, provider }, machine, at);
    const appraisal = { job, provider, session, key, policy: spec.policyDigest, evidence: digest, notAfter };
    const signature = signRecoverable(appraisalDigest(domain, appraisal), config.signingSecret);
    return { appraisal, appraisalSignature: signature, result };
  }

  return {
    account,
    appraise: async (request, at) =>
      decideOnEvidence(parts, request, at, (asked, issuedAt) =>
        traced('appraisal', to0x(asked.jobId), () => judge(asked, issuedAt)),
      ),
  };
}
