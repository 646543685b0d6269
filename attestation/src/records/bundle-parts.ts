/** Parts that bundles of every version are made of, and their bounds. */
import { proofBytesMax, proofDocumentCharactersMax } from '../base/limits.js';
import { bytes, bytesUpTo, text, uint } from '../base/shape.js';
import { receiptBytesMax } from './receipt.js';

export const sessionsMax = 64;
export const segmentsMax = 4000;

/** Which of `sessions` signed the receipt. */
export const signedShape = { session: uint(sessionsMax), receipt: bytesUpTo(receiptBytesMax) };

/** A proof bundle of one proof and the text of its statement document (libs/proof/SPEC.md). */
export const proofShape = { bytes: bytesUpTo(proofBytesMax), document: text(proofDocumentCharactersMax) };

export const sealShape = { session: uint(sessionsMax), bytes: bytesUpTo(1024) };

export const deliveryShape = { ciphertextDigest: bytes(32), keyCommit: bytes(32) };
