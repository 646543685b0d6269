/**
 * What is too large for one message travels as sealed pieces: a head of salt and length, then the plaintext in cuts of
 * `pieceBytes`, each encrypted by itself (attestation/SPEC.md, pieces). Whoever carries it finds the borders by counting.
 */
import { concatBytes, uintBe, utf8 } from '../base/bytes.js';
import { exactBytes } from '../base/digest.js';

/** Plaintext of every piece but the last. */
export const pieceBytes = 8 * 1024 * 1024;
/** Salt and u64 length of the plaintext, in front of the first piece. */
export const piecesHeadBytes = 40;
const saltBytes = 32;
const tagBytes = 16;
const sealedBytes = pieceBytes + tagBytes;

export interface PiecesHead {
  /** 32 random bytes: no two sealings have a key in common. */
  readonly salt: Uint8Array;
  /** Bytes of plaintext. */
  readonly length: number;
}

const tag = utf8('veritrain/pieces/v1');

/** HKDF `info` of the key of one sealing; its salt is the head's. */
export function piecesKeyInfo(): Uint8Array {
  return tag.slice();
}

export function pieceCount(length: number): number {
  return Math.ceil(length / pieceBytes);
}

export function encodePiecesHead({ salt, length }: PiecesHead): Uint8Array {
  return concatBytes(exactBytes('salt', salt), uintBe(length, 8));
}

/** @returns null where the bytes are too few, or the length is no number */
export function parsePiecesHead(bytes: Uint8Array): PiecesHead | null {
  if (bytes.length < piecesHeadBytes) return null;
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset + saltBytes, 8).getBigUint64(0));
  return Number.isSafeInteger(length) ? { salt: Uint8Array.from(bytes.subarray(0, saltBytes)), length } : null;
}

/** Binds a piece to its place, to the number of pieces and their bytes, and to what they are. */
export function pieceAssociatedData(index: number, length: number, context: Uint8Array): Uint8Array {
  return concatBytes(tag, uintBe(index, 4), uintBe(pieceCount(length), 4), uintBe(length, 8), context);
}

/** The head, the plaintext, and a tag for every piece. */
export function sealedPiecesBytes(length: number): number {
  return piecesHeadBytes + length + tagBytes * pieceCount(length);
}

/** Where each piece lies in a whole of so many bytes, the first with its head: whoever carries it need not open it. */
export function pieceRanges(total: number): { readonly from: number; readonly to: number }[] {
  const count = Math.ceil((total - piecesHeadBytes) / sealedBytes);
  const borderAt = (index: number): number => Math.min(total, piecesHeadBytes + index * sealedBytes);
  return Array.from({ length: count }, (_, i) => ({ from: i === 0 ? 0 : borderAt(i), to: borderAt(i + 1) }));
}
