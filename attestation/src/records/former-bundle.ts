/** Bundles of versions 1 to 3, as jobs under terms of the former layout have them. */
import type { CborValue } from '../base/cbor.js';
import { coseBytesMax, crlBytesMax, policyBytesMax } from '../base/limits.js';
import { bytes, bytesUpTo, list, nullable, oneOf, record, text, uint, type Shaped } from '../base/shape.js';
import {
  deliveryShape,
  partials,
  proofShape,
  sealShape,
  segmentsMax,
  sessionsMax,
  signedShape,
  statement,
  type BundledSegment,
  outcome,
} from './bundle-parts.js';
import { sessionEvidenceBytesMax } from './evidence.js';
import { jobSpecBytesMax } from './job-spec.js';

const common = {
  spec: bytesUpTo(jobSpecBytesMax),
  /** abi.encode of the escrow's terms in their former layout. */
  terms: bytesUpTo(4096),
  policy: bytesUpTo(policyBytesMax),
  sessions: list(
    record({
      evidence: bytesUpTo(sessionEvidenceBytesMax),
      /** The key broker's attestation result, EAR in COSE; its opinion, kept for the record. */
      result: bytesUpTo(coseBytesMax),
      /** Unix seconds at which the evidence was fresh. */
      appraisedAt: uint(),
      /** The key broker's signed word that it appraised this evidence over its own nonce. */
      appraisal: record({ notAfter: uint(2 ** 40), signature: bytes(65) }),
    }),
    sessionsMax,
  ),
  /** Collateral beyond the certificates that the evidence carries. */
  endorsements: record({ crls: list(bytesUpTo(crlBytesMax), 16), rims: list(bytesUpTo(1024 * 1024), 8) }),
  run: record({
    upTo: uint(segmentsMax),
    outcome,
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
  }),
  /** `ciphertextDigest`: SHA-256 of the encrypted result. */
  delivery: record(deliveryShape),
  settlement: record({ transactions: list(record({ call: text(32), hash: bytes(32) }), 64) }),
};

/** A job that an enclave alone vouches for. */
const attestedShape = {
  ...common,
  version: oneOf(1),
  segments: list(record({ ...signedShape, statement }), segmentsMax),
  seal: record(sealShape),
};

/** A job that is proved, by itself or beside an enclave. */
const provedShape = {
  ...common,
  version: oneOf(2),
  segments: list(
    record({ statement, signed: nullable(record(signedShape)), proof: nullable(record(proofShape)) }),
    segmentsMax,
  ),
  seal: nullable(record(sealShape)),
};

/** A data-parallel job: its segments are rounds, each with the partials that went into it. */
const parallelShape = {
  ...common,
  version: oneOf(3),
  segments: list(record({ ...signedShape, statement, partials }), segmentsMax),
  seal: record(sealShape),
};

export type FormerBundle = Shaped<typeof attestedShape> | Shaped<typeof provedShape> | Shaped<typeof parallelShape>;

/** @returns undefined for another version @throws Rejection MESSAGE_SHAPE */
export function readFormer(version: unknown, decoded: CborValue): FormerBundle | undefined {
  switch (version) {
    case 1:
      return record(attestedShape)(decoded, 'bundle');
    case 2:
      return record(provedShape)(decoded, 'bundle');
    case 3:
      return record(parallelShape)(decoded, 'bundle');
    default:
      return undefined;
  }
}

/** In the shape of version 4. */
export function segmentsOf(bundle: FormerBundle): readonly BundledSegment[] {
  switch (bundle.version) {
    case 1:
      return bundle.segments.map(({ statement, ...signed }) => ({ statement, signed, proof: null, partials: [] }));
    case 2:
      return bundle.segments.map((segment) => ({ ...segment, partials: [] }));
    case 3:
      return bundle.segments.map(({ statement, partials, ...signed }) => ({
        statement,
        signed,
        proof: null,
        partials,
      }));
  }
}
