/** The result of a job, which opens for the client alone, and only with the reveal key (attestation/src/records/delivery.ts). */
import { x25519 } from '@noble/curves/ed25519.js';
import { Rejection, stateBytesMax } from '#attestation/base';
import { deliveryAssociatedData, deliveryKey, deliveryPiecesContext } from '#attestation/records';
import { openWithNonce, sealWithNonce } from './aead.js';
import { openPieces, sealPieces, type PieceOpener } from './pieces.js';

/** One end's X25519 private key, the other end's public key, and what else the key follows from. */
interface ResultContext {
  readonly secret: Uint8Array;
  readonly peer: Uint8Array;
  /** 32 bytes; zero where payment reveals no key. */
  readonly revealKey: Uint8Array;
  readonly jobId: Uint8Array;
  /** weightsDigest that the result must have. */
  readonly last: Uint8Array;
}

/** @returns nonce ‖ ciphertext @throws Rejection RECIPIENT_KEY when the client's key is a point of small order */
export async function sealResult(plaintext: Uint8Array, context: ResultContext): Promise<Uint8Array> {
  return sealWithNonce(keyOf(context), plaintext, associated(context));
}

/** @throws Rejection RESULT_DECRYPT, RECIPIENT_KEY */
export async function openResult(sealed: Uint8Array, context: ResultContext): Promise<Uint8Array> {
  return openWithNonce('RESULT_DECRYPT', 'a result for this recipient', keyOf(context), sealed, associated(context));
}

/**
 * The same in pieces.
 * @param source bytes in parts of any size, `length` together
 * @throws Rejection RECIPIENT_KEY
 */
export function sealResultPieces(
  source: Iterable<Uint8Array>,
  length: number,
  context: ResultContext,
): AsyncIterable<Uint8Array> {
  const { jobId, last } = context;
  return sealPieces(source, length, { key: keyOf(context), associatedData: deliveryPiecesContext(jobId, last) });
}

/** @throws Rejection RECIPIENT_KEY; taking a piece RESULT_DECRYPT, PIECES_* */
export function openResultPieces(context: ResultContext): PieceOpener {
  const { jobId, last } = context;
  return openPieces({
    ...{ key: keyOf(context), associatedData: deliveryPiecesContext(jobId, last) },
    ...{ code: 'RESULT_DECRYPT', what: 'a result for this recipient', bytesMax: stateBytesMax + seedBytes },
  });
}

/** Behind the weights of a job that is proved. */
const seedBytes = 32;

function associated({ jobId, last }: ResultContext): Uint8Array {
  return deliveryAssociatedData(jobId, last);
}

function keyOf({ secret, peer, revealKey, jobId }: ResultContext): Uint8Array {
  return deliveryKey(revealKey, agree(secret, peer), jobId);
}

function agree(secret: Uint8Array, peer: Uint8Array): Uint8Array {
  try {
    return x25519.getSharedSecret(secret, peer);
  } catch {
    throw new Rejection('RECIPIENT_KEY', {
      expected: 'an X25519 public key',
      got: 'a point of small order',
      rule: 'RFC 7748 §6.1',
      action: 'submit the job with the public key of a fresh key pair',
    });
  }
}
