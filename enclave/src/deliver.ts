/** Encrypts the result so that it opens for the client alone, and only after payment (attestation/src/delivery.ts). */
import { x25519 } from '@noble/curves/ed25519.js';
import { deliveryAssociatedData, deliveryKey, keyCommitment, Rejection } from '#attestation';
import { sealWithNonce } from './aead.js';

export interface Delivery {
  readonly ciphertext: Uint8Array;
  /** SHA-256 of the ciphertext. */
  readonly ciphertextDigest: Uint8Array;
  readonly revealKey: Uint8Array;
  readonly keyCommit: Uint8Array;
}

/**
 * @param weights  canonical tensor bytes (fixed-point §11)
 * @param last     weightsDigest that the result must have
 * @throws Rejection RECIPIENT_KEY when the client's key is a point of small order
 */
export async function sealResult(
  weights: Uint8Array,
  parties: { readonly transportSecret: Uint8Array; readonly recipient: Uint8Array },
  jobId: Uint8Array,
  last: Uint8Array,
): Promise<Delivery> {
  const revealKey = crypto.getRandomValues(new Uint8Array(32));
  const key = deliveryKey(revealKey, agree(parties.transportSecret, parties.recipient), jobId);
  const ciphertext = await sealWithNonce(key, weights, deliveryAssociatedData(jobId, last));
  const digest = await crypto.subtle.digest('SHA-256', ciphertext as Uint8Array<ArrayBuffer>);
  return { ciphertext, ciphertextDigest: new Uint8Array(digest), revealKey, keyCommit: keyCommitment(revealKey) };
}

function agree(secret: Uint8Array, recipient: Uint8Array): Uint8Array {
  try {
    return x25519.getSharedSecret(secret, recipient);
  } catch {
    throw new Rejection('RECIPIENT_KEY', {
      expected: 'an X25519 public key',
      got: 'a point of small order',
      rule: 'RFC 7748 §6.1',
      action: 'submit the job with the public key of a fresh key pair',
    });
  }
}
