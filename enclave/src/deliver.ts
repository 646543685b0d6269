/**
 * Encrypts the result so that it opens for the client alone, and only after payment where that reveals its key
 * (attestation/src/records/delivery.ts).
 */
import { createHash } from 'node:crypto';
import { concatBytes } from '#attestation/base';
import { ciphertextDigest, deliveryHasher, keyCommitment } from '#attestation/records';
import { sealResult, sealResultPieces } from '#libs/sealing';
import type { SessionKeys } from './keys.js';
import { sendPieces, type SendPiece } from './pieces.js';

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
  const revealKey = revealKeyOf(isRevealed);
  const context = { secret: keys.transportSecret, peer: recipient, revealKey, jobId, last };
  const sealed = await sealResult(weights, context);
  // Without a reveal no key is withheld, as with a prover: the client finds the public key in front.
  const ciphertext = isRevealed ? sealed : concatBytes(keys.binding.transportKey, sealed);
  const digest = ciphertextDigest(ciphertext);
  return { ciphertext, ciphertextDigest: digest, revealKey, keyCommit: keyCommitment(revealKey) };
}

/**
 * The same in pieces, which leave as they are sealed.
 * @param parts canonical tensor bytes, `length` together
 * @returns a delivery whose `ciphertext` is the last piece
 * @throws Rejection RECIPIENT_KEY
 */
export async function sendDelivery(
  { parts, length }: { readonly parts: Iterable<Uint8Array>; readonly length: number },
  { keys, recipient, isRevealed }: ResultParties,
  { jobId, last }: { readonly jobId: Uint8Array; readonly last: Uint8Array },
  send: SendPiece,
): Promise<Delivery> {
  const revealKey = revealKeyOf(isRevealed);
  const hasher = deliveryHasher(() => createHash('sha256'));
  const sealed = sealResultPieces(parts, length, {
    ...{ secret: keys.transportSecret, peer: recipient, revealKey, jobId, last },
  });
  const ciphertext = await sendPieces(hashed(), send);
  return { ciphertext, ciphertextDigest: hasher.end().digest, revealKey, keyCommit: keyCommitment(revealKey) };

  async function* hashed(): AsyncIterable<Uint8Array> {
    let front = isRevealed ? new Uint8Array() : keys.binding.transportKey;
    for await (const piece of sealed) {
      const told = concatBytes(front, piece);
      hasher.update(told);
      yield told;
      front = new Uint8Array();
    }
  }
}

function revealKeyOf(isRevealed: boolean): Uint8Array {
  return isRevealed ? crypto.getRandomValues(new Uint8Array(32)) : new Uint8Array(32);
}
