/** What leaves the enclave in pieces: all but the last as events of their own (enclave/SPEC.md, checkpoints). */
import { checkpointWeightsBytesMax } from '#attestation/base';
import type { Weights } from '#libs/step';

/** @returns when the piece is with the operating system */
export type SendPiece = (index: number, ciphertext: Uint8Array) => Promise<void>;

/** Of the canonical form. */
export function stateBytes(weights: Weights): number {
  return weights.reduce((sum, { values }) => sum + 8 * values.length, 0);
}

/** Whether a state is too large for one message; smaller ones keep the form that they always had. */
export function isLarge(weights: Weights): boolean {
  return stateBytes(weights) > checkpointWeightsBytesMax;
}

/** @returns the last piece */
export async function sendPieces(pieces: AsyncIterable<Uint8Array>, send: SendPiece): Promise<Uint8Array> {
  let [index, held] = [0, new Uint8Array() as Uint8Array];
  for await (const piece of pieces) {
    if (held.length > 0) await send(index++, held);
    held = piece;
  }
  return held;
}
