/** That a reported key release was signed by the key broker of the escrow, for this job and this session's evidence. */
import { createHash } from 'node:crypto';
import {
  appraisalDigest,
  domainSeparator,
  enclaveKeyWord,
  fromHex,
  parseJobSpec,
  parseSessionEvidence,
  parseTermsJson,
  recoverAddress,
  registryDomainSeparator,
  Rejection,
  releaseDigest,
  toHex,
} from '#attestation';
import type { LeaseKeyed } from '#libs/messaging';
import type { Job } from '#libs/persistence';
import { refusal } from '../problem/codes.js';

type Release = LeaseKeyed['release']['release'];

/**
 * @param evidence  the session's evidence as it was appraised under this lease
 * @throws Rejection RELEASE_SIGNATURE; SEAL_SIGNATURE for bytes that no key can have signed
 */
export function checkRelease(
  job: Pick<Job, 'escrowId' | 'spec' | 'terms'>,
  evidence: Uint8Array,
  release: Release,
): void {
  const { settlement, policyDigest } = parseJobSpec(new Uint8Array(job.spec));
  const { binding } = parseSessionEvidence(new Uint8Array(evidence));
  const digest = new Uint8Array(createHash('sha256').update(evidence).digest());
  same('job', job.escrowId, release.job);
  same('enclave key', hex(enclaveKeyWord(binding.settlementKey)), release.enclaveKey);
  same('key', hex(binding.settlementKey), release.key);
  same('provider', hex(binding.provider), release.provider);
  same('policy', hex(policyDigest), release.policy);
  same('evidence', hex(digest), release.evidence);
  const { chainId, contract } = settlement;
  const escrow = domainSeparator({ chainId, verifyingContract: contract });
  const registry = registryDomainSeparator({ chainId: binding.chainId, verifyingContract: binding.registry });
  const signed = releaseDigest(escrow, {
    job: fromHex(job.escrowId),
    enclaveKey: enclaveKeyWord(binding.settlementKey),
    shardsDigest: fromHex(release.shardsDigest),
  });
  const { settlementKey: key, provider } = binding;
  const { notAfter } = release;
  const appraised = appraisalDigest(registry, { key, policy: policyDigest, provider, evidence: digest, notAfter });
  signedByBroker(job, 'release', signed, release.releaseSignature);
  signedByBroker(job, 'appraisal', appraised, release.appraisalSignature);
}

/** @throws Rejection RELEASE_SIGNATURE, SEAL_SIGNATURE */
export function signedByBroker(
  { terms }: Pick<Job, 'terms'>,
  what: string,
  digest: Uint8Array,
  signature: string,
): void {
  const { keyBroker, client } = parseTermsJson(terms);
  const allowed = [hex(keyBroker), hex(client)];
  const signer = hex(recoverAddress(digest, fromHex(signature)));
  if (!allowed.includes(signer)) throw refused(`${what} signed by ${allowed.join(' or ')}`, signer);
}

function same(what: string, expected: string, got: string): void {
  if (expected !== got) throw refused(`${what} ${expected}`, got);
}

function refused(expected: string, got: string): Rejection {
  return refusal('RELEASE_SIGNATURE', {
    expected,
    got,
    rule: 'settlement §3',
    action: 'Ask the key broker of the job for its release.',
  });
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}
