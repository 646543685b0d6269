/**
 * Encrypts the result so that it opens for the client alone, and only after payment where that reveals its key
 * (attestation/src/records/delivery.ts).
 */
import { concatBytes } from '#attestation/base';
import { ciphertextDigest, keyCommitment } from '#attestation/records';
import { sealResult } from '#libs/sealing';
import type { SessionKeys } from './keys.js';

interface Delivery {
  readonly ciphertext: Uint8Array;
  /** Over the ciphertext's chunks. */
  readonly ciphertextDigest: Uint8Array;
  readonly revealKey: Uint8Array;
  readonly keyCommit: Uint8Array;
}

interface ResultParties {
  readonly keys: Pick<SessionKeys, 'binding' | 'transportSecret'>;
  /** X25519 public key of the client. */
  readonly recipient: Uint8Array;
  readonly isRevealed: boolean;
}

/**
 * @param weights  canonical tensor bytes (libs/step/SPEC.md §11)
 * @param last     weightsDigest that the result must have
 * @throws Rejection RECIPIENT_KEY when the client's key is a point of small order
 */
export async function sealDelivery(
  weights: Uint8Array,
  { keys, recipient, isRevealed }: ResultParties,
  jobId: Uint8Array,
  last: Uint8Array,
): Promise<Delivery> {
  const revealKey = isRevealed ? crypto.getRandomValues(new Uint8Array(32)) : new Uint8Array(32);
  const context = { secret: keys.transportSecret, peer: recipient, revealKey, jobId, last };
  const sealed = await sealResult(weights, context);
  // Without a reveal no key is withheld, as with a prover: the client finds the public key in front.
  const ciphertext = isRevealed ? sealed : concatBytes(keys.binding.transportKey, sealed);
  const digest = ciphertextDigest(ciphertext);
  return { ciphertext, ciphertextDigest: digest, revealKey, keyCommit: keyCommitment(revealKey) };
}
