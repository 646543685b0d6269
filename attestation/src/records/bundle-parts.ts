/** Parts that bundles of every version are made of, and their bounds; and the one shape that their segments are read into. */
import { proofBytesMax, proofDocumentCharactersMax, workersMax } from '../base/limits.js';
import { bytes, bytesUpTo, list, nullable, oneOf, record, text, uint, type Shaped } from '../base/shape.js';
import { receiptBytesMax } from './receipt.js';

export const sessionsMax = 64;
export const segmentsMax = 4000;

/** Of a run, contracts/SPEC.md §3. */
export const outcome = oneOf(0, 1, 2, 3);

export const statement = bytesUpTo(1024);

/** Which of `sessions` signed the receipt. */
export const signedShape = { session: uint(sessionsMax), receipt: bytesUpTo(receiptBytesMax) };

/** A proof bundle of one proof and the text of its statement document (libs/proof/SPEC.md). */
export const proofShape = { bytes: bytesUpTo(proofBytesMax), document: text(proofDocumentCharactersMax) };

/** A partial of every worker of a round, in their order. */
export const partials = list(record({ ...signedShape, statement }), workersMax);

export const segmentShape = {
  statement,
  /** Null where its proof takes the receipt's place. */
  signed: nullable(record(signedShape)),
  proof: nullable(record(proofShape)),
  /** None where the job is not data-parallel. */
  partials,
};

export type BundledSegment = Shaped<typeof segmentShape>;
export type BundledProof = Shaped<typeof proofShape>;

export const sealShape = { session: uint(sessionsMax), bytes: bytesUpTo(1024) };

export const deliveryShape = { ciphertextDigest: bytes(32), keyCommit: bytes(32) };
