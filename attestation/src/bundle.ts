/** The evidence bundle: one file with all that shows what was trained, on what, by whom; verifiable offline. */
import { decodeCanonical, encodeCanonical } from './cbor.js';
import { sessionEvidenceBytesMax } from './evidence.js';
import {
  bundleBytesMax,
  coseBytesMax,
  crlBytesMax,
  policyBytesMax,
  proofBytesMax,
  proofDocumentCharactersMax,
  workersMax,
} from './limits.js';
import { receiptBytesMax } from './receipt.js';
import {
  bytes,
  bytesUpTo,
  checkLength,
  list,
  nullable,
  oneOf,
  record,
  text,
  toCbor,
  uint,
  type Shaped,
} from './shape.js';
import { jobSpecBytesMax } from './statement/job-spec.js';

const sessionsMax = 64;
const segmentsMax = 4000;

const common = {
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
  /** EIP-712 Run of settlement §3. */
  run: record({
    upTo: uint(segmentsMax),
    outcome: oneOf(0, 1, 2),
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
  }),
  delivery: record({
    /** SHA-256 of the encrypted result. */
    ciphertextDigest: bytes(32),
    keyCommit: bytes(32),
  }),
  settlement: record({ transactions: list(record({ call: text(32), hash: bytes(32) }), 64) }),
};

/** Which of `sessions` signed the receipt. */
const receiptFields = { session: uint(sessionsMax), receipt: bytesUpTo(receiptBytesMax) };
const statement = bytesUpTo(1024);
const seal = record({ session: uint(sessionsMax), bytes: bytesUpTo(1024) });

/** A job that an enclave alone vouches for. */
const attestedShape = {
  ...common,
  version: oneOf(1),
  segments: list(record({ ...receiptFields, statement }), segmentsMax),
  seal,
};

/** A job that is proved, by itself or beside an enclave. */
const provedShape = {
  ...common,
  version: oneOf(2),
  segments: list(
    record({
      statement,
      signed: nullable(record(receiptFields)),
      /** A proof bundle of one proof and the text of its statement document (libs/proof SPEC). */
      proof: nullable(record({ bytes: bytesUpTo(proofBytesMax), document: text(proofDocumentCharactersMax) })),
    }),
    segmentsMax,
  ),
  seal: nullable(seal),
};

/** A data-parallel job: its segments are rounds, each with a round statement and the partials that went into it. */
const parallelShape = {
  ...common,
  version: oneOf(3),
  segments: list(
    record({
      ...receiptFields,
      statement,
      /** In the order of the workers; the statements are step statements. */
      partials: list(record({ ...receiptFields, statement }), workersMax),
    }),
    segmentsMax,
  ),
  seal,
};

export type AttestedBundle = Shaped<typeof attestedShape>;
export type ProvedBundle = Shaped<typeof provedShape>;
export type ParallelBundle = Shaped<typeof parallelShape>;
export type EvidenceBundle = AttestedBundle | ProvedBundle | ParallelBundle;

export type BundledPartial = ParallelBundle['segments'][number]['partials'][number];

/** What version 2 says of a segment; the others say it too. */
export type BundledSegment = ProvedBundle['segments'][number];
export type BundledProof = NonNullable<BundledSegment['proof']>;

export function segmentsOfBundle(bundle: EvidenceBundle): readonly BundledSegment[] {
  if (bundle.version === 2) return bundle.segments;
  return bundle.segments.map(({ statement: said, ...signed }) => ({ statement: said, signed, proof: null }));
}

export function encodeBundle(bundle: EvidenceBundle): Uint8Array {
  return encodeCanonical(toCbor(bundle));
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseBundle(encoded: Uint8Array): EvidenceBundle {
  checkLength('evidence bundle', encoded, bundleBytesMax);
  const decoded = decodeCanonical(encoded);
  const version = decoded instanceof Map ? decoded.get('version') : null;
  if (version === 2) return record(provedShape)(decoded, 'bundle');
  return version === 3 ? record(parallelShape)(decoded, 'bundle') : record(attestedShape)(decoded, 'bundle');
}
