/**
 * Result against payment (settlement §12). The result is encrypted under a key that needs both the reveal key, which
 * the chain makes public when it pays, and the client's private key; neither side can walk away with both.
 */
import { hkdf } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8 } from './bytes.js';
import { exactBytes, keccak, type Digest } from './statement/digest.js';

/**
 * AES-256 key of the result.
 * @param revealKey  32 bytes, made by the enclave, revealed on chain by `finalize`
 * @param shared     X25519 of the enclave's transport key and the client's recipient key, 32 bytes
 */
export function deliveryKey(revealKey: Uint8Array, shared: Uint8Array, jobId: Digest): Uint8Array {
  const secret = concatBytes(exactBytes('revealKey', revealKey), exactBytes('shared', shared));
  return hkdf(sha256, secret, exactBytes('jobId', jobId), utf8('veritrain/delivery/v1'), 32);
}

/** What the chain compares the revealed key with. */
export function keyCommitment(revealKey: Uint8Array): Digest {
  return keccak(exactBytes('revealKey', revealKey));
}

/** Associated data of the result: this job's, ending in these weights. */
export function deliveryAssociatedData(jobId: Digest, last: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/result/v1'), exactBytes('jobId', jobId), exactBytes('last', last));
}
