/** What a broker's word on an attestation result is bound to. */
import { sha256 } from '@noble/hashes/sha2.js';
import { taggedDigest, type Digest } from '../base/digest.js';

/** How far the clocks of a broker and of whoever made the bundle may be apart. */
export const clockSkewSeconds = 300;

/** What the key broker's account signs of an attestation result, so that a bundle shows whose it is. */
export function resultDigest(evidence: Digest, result: Uint8Array): Digest {
  return taggedDigest('veritrain/attestation-result/1', evidence, sha256(result));
}
