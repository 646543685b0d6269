/** The evidence bundle: one file with all that shows what was trained, on what, by whom; verifiable offline. */
import { decodeCanonical, encodeCanonical } from './cbor.js';
import { sessionEvidenceBytesMax } from './evidence.js';
import { bundleBytesMax, coseBytesMax, crlBytesMax, policyBytesMax } from './limits.js';
import { receiptBytesMax } from './receipt.js';
import { bytes, bytesUpTo, checkLength, list, oneOf, record, text, toCbor, uint, type Shaped } from './shape.js';
import { jobSpecBytesMax } from './statement/job-spec.js';

const sessionsMax = 64;
const segmentsMax = 4000;

const bundleShape = {
  version: oneOf(1),
  /** Job spec, deterministic CBOR. */
  spec: bytesUpTo(jobSpecBytesMax),
  /** abi.encode(Terms) of the escrow. */
  terms: bytesUpTo(4096),
  /** Appraisal policy, deterministic CBOR; the spec names its digest. */
  policy: bytesUpTo(policyBytesMax),
  sessions: list(
    record({
      evidence: bytesUpTo(sessionEvidenceBytesMax),
      /** The key broker's attestation result, EAR in COSE; its opinion, kept for the record. */
      result: bytesUpTo(coseBytesMax),
      /** Unix seconds at which the evidence was fresh. */
      appraisedAt: uint(),
      /** The key broker's signed word that it appraised this evidence over its own nonce (settlement §3, Appraisal). */
      appraisal: record({ notAfter: uint(2 ** 40), signature: bytes(65) }),
    }),
    sessionsMax,
  ),
  /** Collateral beyond the certificates that the evidence carries. */
  endorsements: record({ crls: list(bytesUpTo(crlBytesMax), 16), rims: list(bytesUpTo(1024 * 1024), 8) }),
  segments: list(
    record({
      /** Which of `sessions` signed the receipt. */
      session: uint(sessionsMax),
      statement: bytesUpTo(1024),
      receipt: bytesUpTo(receiptBytesMax),
    }),
    segmentsMax,
  ),
  /** EIP-712 Run of settlement §3. */
  run: record({
    upTo: uint(segmentsMax),
    outcome: oneOf(0, 1, 2),
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
  }),
  seal: record({ session: uint(sessionsMax), bytes: bytesUpTo(1024) }),
  delivery: record({
    /** SHA-256 of the encrypted result. */
    ciphertextDigest: bytes(32),
    keyCommit: bytes(32),
  }),
  settlement: record({ transactions: list(record({ call: text(32), hash: bytes(32) }), 64) }),
};

export type EvidenceBundle = Shaped<typeof bundleShape>;

export function encodeBundle(bundle: EvidenceBundle): Uint8Array {
  return encodeCanonical(toCbor(bundle));
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseBundle(encoded: Uint8Array): EvidenceBundle {
  checkLength('evidence bundle', encoded, bundleBytesMax);
  return record(bundleShape)(decodeCanonical(encoded), 'bundle');
}
