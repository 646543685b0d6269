/**
 * A host that restarted delivers under a new session what an earlier one sealed: the signature tells which. Its newest
 * appraisal is the one that the seal is shown with.
 */
import { equalBytes, fromBase64, recoverAddress, Rejection } from '#attestation/base';
import { type StoredJob } from './stored-job.js';

/** @param keyOf  the settlement key that a session's evidence binds @returns its place, or null */
export function sealingSession(
  { delivery, sessions }: StoredJob,
  runDigest: Uint8Array,
  keyOf: (evidence: Uint8Array) => Uint8Array,
): number | null {
  const signer = signerOf(runDigest, fromBase64(delivery.seal).subarray(4));
  if (signer === null) return null;
  const index = sessions.findLastIndex(({ evidence }) => equalBytes(keyOf(evidence), signer));
  return index < 0 ? null : index;
}

function signerOf(digest: Uint8Array, signature: Uint8Array): Uint8Array | null {
  try {
    return recoverAddress(digest, signature);
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}
