/** Appraisal policies as files. */
import { documentDigest, encodeDocument, parsePolicy, type AppraisalPolicy } from '#attestation';
import { fromHex } from '#attestation/base';
import { parseTrustPolicy, trustPolicyCharactersMax, type TrustPolicy } from '#attestation/log';
import { readBytes } from '../files/files.js';
import { policyBytesMax } from '../limits.js';

interface PolicyFile {
  readonly policy: AppraisalPolicy;
  /** Deterministic encoding; what travels with a job. */
  readonly bytes: Uint8Array;
  /** SHA-256 of `bytes`; what a job spec names. */
  readonly digest: Uint8Array;
}

/** @throws ConfigurationError FILE_*, POLICY_*; Rejection DOCUMENT_* */
export function readPolicy(path: string): PolicyFile {
  const policy = parsePolicy(new TextDecoder().decode(readBytes(path, policyBytesMax)));
  return { policy, bytes: encodeDocument(policy), digest: fromHex(documentDigest(policy)) };
}

/** @throws ConfigurationError FILE_*; Rejection LOG_TRUST_POLICY, LOG_KEY */
export function readTrustPolicy(path: string): TrustPolicy {
  return parseTrustPolicy(new TextDecoder().decode(readBytes(path, trustPolicyCharactersMax)));
}
