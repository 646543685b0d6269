/** That a reported key release was signed by the key broker of the terms, for this job and this session's evidence. */
import { createHash } from 'node:crypto';
import { fromHex, recoverAddress, Rejection, to0x } from '#attestation/base';
import {
  appraisalDigest,
  clockSkewSeconds,
  domainSeparator,
  keysDigest,
  parseSessionEvidence,
  releaseDigest,
  resultDigest,
  verifySessionProof,
  type Terms,
} from '#attestation/records';
import type { Job } from '#libs/persistence';
import type { KeyReleased } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';
import { openJob, type JobRow } from '../jobs/open-job.js';

export type ReleasedJob = Pick<Job, 'spec' | 'terms' | 'escrowId'>;

/**
 * @param encoded  the session's evidence as it was appraised under this lease
 * @throws Rejection RELEASE_SIGNATURE, EVIDENCE_PROOF; SIGNATURE_* for bytes that no key can have signed
 */
export function checkRelease(job: ReleasedJob, encoded: Uint8Array, released: KeyReleased): void {
  const { spec, terms } = openJob(job);
  const session = parseSessionEvidence(new Uint8Array(encoded));
  verifySessionProof(session);
  const { binding } = session;
  const { release } = released;
  const evidence = sha256(encoded);
  same('job', job.escrowId, release.job);
  same('provider', to0x(binding.provider), release.provider);
  same('data set', to0x(spec.dataset.id), release.dataset);
  same('session', to0x(keysDigest(binding)), release.session);
  same('key', to0x(binding.settlementKey), release.key);
  same('policy', to0x(terms.policy), release.policy);
  same('evidence', to0x(evidence), release.evidence);
  same('nonce', to0x(session.nonce), release.nonce);
  const domain = domainOf(job);
  const { provider, settlementKey: key } = binding;
  const named = { job: fromHex(job.escrowId), provider, session: keysDigest(binding), key, policy: terms.policy };
  const { grantedAt, notAfter } = release;
  const signed = releaseDigest(domain, {
    ...{ ...named, evidence, grantedAt, notAfter, nonce: session.nonce },
    ...{ dataset: spec.dataset.id, grant: fromHex(release.grant) },
  });
  signedByBroker(terms, 'release', signed, released.releaseSignature);
  checkResult(terms, evidence, released);
  checkAppraisals(terms, released.appraisals, (appraised) => appraisalDigest(domain, { ...named, ...appraised }));
}

/**
 * That the key broker's word is for the time at which the evidence was judged here: no bundle could show it otherwise.
 * @param at  unix seconds @throws Rejection RELEASE_TIME where the clocks of the two are too far apart
 */
export function checkGrantTime(
  { grantedAt, notAfter }: Pick<KeyReleased['release'], 'grantedAt' | 'notAfter'>,
  at: number,
): void {
  if (grantedAt <= at + clockSkewSeconds && at <= notAfter) return;
  throw refusal('RELEASE_TIME', {
    expected: `a word of the key broker for ${at}, give or take ${clockSkewSeconds} seconds`,
    got: `one from ${grantedAt} to ${notAfter}`,
    rule: 'apps/control-plane/README.md, key releases',
    action: 'Set the clocks of key broker and control plane; the job is tried again.',
  });
}

/** As it is stored. */
export function releaseColumns(released: KeyReleased) {
  const { release, releaseSignature, appraisals, logged, result, resultSignature } = released;
  const signed: StoredRelease = { ...release, releaseSignature, appraisals, ...(logged !== undefined && { logged }) };
  return { release: signed as object, result: Buffer.from(result, 'base64'), resultSignature };
}

/** What a row of a key release holds beside the result. */
export type StoredRelease = KeyReleased['release'] & Pick<KeyReleased, 'releaseSignature' | 'appraisals' | 'logged'>;

/** @throws Rejection RELEASE_SIGNATURE */
export function checkResult(
  terms: Terms,
  evidence: Uint8Array,
  { result, resultSignature }: Pick<KeyReleased, 'result' | 'resultSignature'>,
): void {
  const digest = resultDigest(evidence, new Uint8Array(Buffer.from(result, 'base64')));
  signedByBroker(terms, 'attestation result', digest, resultSignature);
}

/** @throws Rejection RELEASE_SIGNATURE */
export function signedByBroker({ keyBroker }: Terms, what: string, digest: Uint8Array, signature: string): void {
  const signer = to0x(recoverAddress(digest, fromHex(signature)));
  if (signer !== to0x(keyBroker)) throw refused(`${what} signed by ${to0x(keyBroker)}`, signer);
}

export function domainOf(job: JobRow): Uint8Array {
  const { chainId, contract } = openJob(job).spec.settlement;
  return domainSeparator({ chainId, verifyingContract: contract });
}

/** As many of the listed attestors as the terms need, each once. */
function checkAppraisals(
  { attestors, needed }: Terms,
  appraisals: KeyReleased['appraisals'],
  digestOf: (appraised: { readonly evidence: Uint8Array; readonly notAfter: number }) => Uint8Array,
): void {
  const listed = attestors.map(to0x);
  const signers = new Set<string>();
  for (const { evidence, notAfter, signature } of appraisals) {
    const signer = to0x(recoverAddress(digestOf({ evidence: fromHex(evidence), notAfter }), fromHex(signature)));
    if (!listed.includes(signer)) throw refused(`an attestor of the terms: ${listed.join(', ') || 'none'}`, signer);
    signers.add(signer);
  }
  if (signers.size < needed) throw refused(`appraisals by ${needed} attestors of the terms`, `${signers.size}`);
}

function same(what: string, expected: string, got: string): void {
  if (expected !== got) throw refused(`${what} ${expected}`, got);
}

function refused(expected: string, got: string): Rejection {
  return refusal('RELEASE_SIGNATURE', {
    expected,
    got,
    rule: 'contracts/SPEC.md §3',
    action: 'Ask the key broker of the job for its release.',
  });
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
