/** Session evidence as it was before sessions signed for it: in bundles of versions 1 to 3 alone. */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { checkLength, oneOf, record, toCbor, type Shaped } from '../base/shape.js';
import { reportedShape, sessionEvidenceBytesMax } from './evidence.js';

const formerShape = { ...reportedShape, version: oneOf(1) };

export type FormerSessionEvidence = Shaped<typeof formerShape>;

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseFormerSessionEvidence(encoded: Uint8Array): FormerSessionEvidence {
  checkLength('session evidence', encoded, sessionEvidenceBytesMax);
  return record(formerShape)(decodeCanonical(encoded), 'evidence');
}

/** For whoever makes a bundle of versions 1 to 3 again. */
export function encodeFormerSessionEvidence(evidence: FormerSessionEvidence): Uint8Array {
  return encodeCanonical(toCbor(evidence));
}
