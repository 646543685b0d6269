/** What others said of the sessions of a bundle: the key broker's releases, the attestors' appraisals, the signed results. */
import { sha256 } from '@noble/hashes/sha2.js';
import type { AttestationResult } from '../appraisal/appraise.js';
import type { AppraisalPolicy } from '../appraisal/policy.js';
import { recoverAddress } from '../base/address.js';
import { equalBytes, toHex } from '../base/bytes.js';
import { decodeCanonical } from '../base/cbor.js';
import { readSign1 } from '../base/cose.js';
import type { Digest } from '../base/digest.js';
import { jsonOf } from '../check/document.js';
import { clockSkewSeconds, resultDigest } from '../records/attestation-result.js';
import type { EvidenceBundle } from '../records/bundle.js';
import { appraisalDigest, domainSeparator, leaseDigest, releaseDigest } from '../records/eip712.js';
import { verifySessionProof, type ReportedSession, type SessionEvidence } from '../records/evidence.js';
import { keysDigest } from '../records/key-binding.js';
import type { Terms } from '../records/terms.js';
import { mismatch, same, type BundleParts } from './bundle-context.js';

export interface SpokenParts extends BundleParts {
  readonly bundle: EvidenceBundle;
  readonly terms: Terms;
  readonly sessions: readonly SessionEvidence[];
}

/**
 * That the broker of the terms released a key to every session, or let it go on, on exactly this evidence, and that the
 * session itself made it. A session that only went on must have had a release. Its time is the broker's: whoever made the
 * bundle could else judge a machine as of a day before its firmware was condemned.
 *
 * @throws Rejection BUNDLE_GRANTS, EVIDENCE_PROOF, SIGNATURE_*
 */
export function checkGrants(context: SpokenParts, { resultSecondsMax }: AppraisalPolicy): string {
  const { bundle, sessions, terms } = context;
  const released = new Set<string>();
  sessions.forEach((session, index) => {
    const { grant, appraisedAt } = bundle.sessions[index]!;
    verifySessionProof(session);
    same('BUNDLE_GRANTS', `appraised at ${grant.grantedAt}`, `appraised at ${appraisedAt}`);
    checkTime('BUNDLE_GRANTS', appraisedAt, grant.notAfter, resultSecondsMax);
    const signer = recoverAddress(grantDigest(context, session, index), grant.signature);
    same('BUNDLE_GRANTS', toHex(terms.keyBroker), toHex(signer));
    if (grant.grant !== null) released.add(toHex(keysDigest(session.binding)));
  });
  const bare = sessions.findIndex(({ binding }) => !released.has(toHex(keysDigest(binding))));
  if (bare >= 0) throw mismatch('BUNDLE_GRANTS', `a release for session ${bare}`, 'a lease alone');
  return `${sessions.length} by ${toHex(terms.keyBroker)}`;
}

function grantDigest(context: SpokenParts, session: ReportedSession, index: number): Digest {
  const { bundle, spec, terms, escrowId: job } = context;
  const { grant, grantedAt, notAfter } = bundle.sessions[index]!.grant;
  const named = {
    ...{ job, session: keysDigest(session.binding), policy: terms.policy, nonce: session.nonce },
    ...{ evidence: sha256(bundle.sessions[index]!.evidence), grantedAt, notAfter },
  };
  if (grant === null) return leaseDigest(domainOf(context), named);
  const { provider, settlementKey: key } = session.binding;
  return releaseDigest(domainOf(context), { ...named, provider, key, grant, dataset: spec.dataset.id });
}

/** @throws Rejection BUNDLE_APPRAISALS where fewer attestors of the terms than needed vouch for a session's key */
export function checkAppraisals(context: SpokenParts): string {
  const { bundle, sessions, terms, escrowId: job } = context;
  sessions.forEach((session, index) => {
    const { provider, settlementKey: key } = session.binding;
    const ofSession = { job, provider, session: keysDigest(session.binding), key, policy: terms.policy };
    const signers = bundle.sessions[index]!.appraisals.map(({ evidence, notAfter, signature }) =>
      toHex(recoverAddress(appraisalDigest(domainOf(context), { ...ofSession, evidence, notAfter }), signature)),
    );
    const listed = terms.attestors.map(toHex);
    const stranger = signers.find((signer, at) => !listed.includes(signer) || signers.indexOf(signer) < at);
    if (stranger !== undefined) throw mismatch('BUNDLE_APPRAISALS', `attestors of the terms, each once`, stranger);
    const isRenewal = bundle.sessions[index]!.grant.grant === null;
    if (isRenewal || signers.length >= terms.needed) return;
    throw mismatch('BUNDLE_APPRAISALS', `${terms.needed} appraisals of session ${index}`, `${signers.length}`);
  });
  return `${terms.needed} of ${terms.attestors.length} attestors demanded`;
}

/**
 * That the result is the broker's and says what the appraisal here says: same evidence, same policy, same outcome.
 * @throws Rejection BUNDLE_RESULTS, COSE_*, CBOR_*, SIGNATURE_*
 */
export function checkResults({ bundle, spec, terms }: SpokenParts, judged: readonly AttestationResult[]): string {
  bundle.sessions.forEach(({ evidence, result, resultSignature }, index) => {
    const signer = recoverAddress(resultDigest(sha256(evidence), result), resultSignature);
    same('BUNDLE_RESULTS', toHex(terms.keyBroker), toHex(signer));
    const said = saidIn(result);
    same('BUNDLE_RESULTS', judged[index]!.evidenceDigest, String(said['veritrain.evidence-digest']));
    same('BUNDLE_RESULTS', toHex(spec.policyDigest), String(said['veritrain.policy-digest']));
    const status = statusOfResult(result);
    if (status !== 'affirming' && status !== 'warning') {
      throw mismatch('BUNDLE_RESULTS', 'a result that accepts the session', status);
    }
  });
  return `${bundle.sessions.length} by ${toHex(terms.keyBroker)}`;
}

function saidIn(result: Uint8Array): Record<string, unknown> {
  return jsonOf(decodeCanonical(readSign1(result, 'tagged').payload)) as Record<string, unknown>;
}

/** @throws Rejection COSE_*, CBOR_*, DOCUMENT_SHAPE */
export function statusOfResult(result: Uint8Array): string {
  return String(saidIn(result)['veritrain.status']);
}

export function checkTime(code: string, at: number, notAfter: number, resultSecondsMax: number): void {
  const from = notAfter - resultSecondsMax - clockSkewSeconds;
  if (at < from || at > notAfter) throw mismatch(code, `a time from ${from} to ${notAfter}`, `${at}`);
}

function domainOf({ spec: { settlement } }: BundleParts): Digest {
  return domainSeparator({ chainId: settlement.chainId, verifyingContract: settlement.contract });
}

export interface SeenTransaction {
  readonly call: string;
  /** 32 bytes. */
  readonly hash: Uint8Array;
}

/** @param seen  what the reader's own look at the chain shows of this escrow @throws Rejection BUNDLE_TRANSACTIONS */
export function checkTransactions({ bundle }: BundleParts, seen: readonly SeenTransaction[]): string {
  for (const { call, hash } of bundle.settlement.transactions) {
    const found = seen.some((one) => one.call === call && equalBytes(one.hash, hash));
    if (!found) throw mismatch('BUNDLE_TRANSACTIONS', `a transaction ${call} of this escrow on the chain`, toHex(hash));
  }
  return `${bundle.settlement.transactions.length} on the chain`;
}
