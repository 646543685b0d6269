/** The evidence bundle: one file with all that shows what was trained, on what, by whom; verifiable offline. */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import type { Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { bundleBytesMax, coseBytesMax, evaluationBytesMax, evaluationsMax, policyBytesMax } from '../base/limits.js';
import {
  bytes,
  bytesUpTo,
  checkLength,
  list,
  listOfSome,
  nullable,
  oneOf,
  record,
  recordWith,
  text,
  toCbor,
  uint,
  type Partially,
  type Shaped,
} from '../base/shape.js';
import { bundledLog } from './bundle-log.js';
import {
  deliveryShape,
  outcome,
  sealShape,
  segmentShape,
  segmentsMax,
  sessionsMax,
  signedShape,
} from './bundle-parts.js';
import { bundledEndorsementLists } from './endorsement-record.js';
import { sessionEvidenceBytesMax } from './evidence.js';
import { readFormer, type FormerBundle } from './former-bundle.js';
import { jobSpecBytesMax } from './job-spec.js';
import { attestorsMax } from './terms.js';

const seconds = uint(2 ** 40 - 1);
const transactionsMax = 64;

const sessionShape = {
  evidence: bytesUpTo(sessionEvidenceBytesMax),
  /** The key broker's attestation result, EAR in COSE. */
  result: bytesUpTo(coseBytesMax),
  /** By the key broker's account over `resultDigest`, 65 bytes. */
  resultSignature: bytes(65),
  /** Unix seconds at which the evidence was fresh: `grantedAt`, for which the key broker signed. */
  appraisedAt: seconds,
  /**
   * The key broker's Release (contracts/SPEC.md §3), whose other fields follow from job and evidence; without `grant`,
   * the SHA-256 of the sealed data key, it is the Lease of a session that has the key.
   */
  grant: record({ grant: nullable(bytes(32)), grantedAt: seconds, notAfter: seconds, signature: bytes(65) }),
  /** Of attestors that the terms name, each over evidence that answers its own nonce: the digest of that evidence. */
  appraisals: list(record({ evidence: bytes(32), notAfter: seconds, signature: bytes(65) }), attestorsMax),
};

const bundleShape = {
  version: oneOf(4),
  /** Job spec, deterministic CBOR. */
  spec: bytesUpTo(jobSpecBytesMax),
  /** abi.encode(Terms) of the escrow. */
  terms: bytesUpTo(4096),
  /** Appraisal policy, deterministic CBOR; the spec names its digest. */
  policy: bytesUpTo(policyBytesMax),
  sessions: list(record(sessionShape), sessionsMax),
  /** What the verdicts on `sessions` rested on, beyond the certificates that their evidence carries. */
  endorsements: record(bundledEndorsementLists),
  segments: list(record(segmentShape), segmentsMax),
  /** EIP-712 Run of contracts/SPEC.md §3. */
  run: record({
    upTo: uint(segmentsMax),
    outcome,
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
    /** `runKeysDigest`; zero where nobody sealed. */
    keys: bytes(32),
  }),
  /** Null where nobody sealed. */
  seal: nullable(record(sealShape)),
  /** `ciphertextDigest` of the result's chunks, and the commitment to its reveal key. */
  delivery: record(deliveryShape),
  settlement: record({ transactions: list(record({ call: text(32), hash: bytes(32) }), transactionsMax) }),
};

/** Members that a bundle has only where they say something. */
const optionalShape = {
  /** One for every evaluation that the manifest declares, in the order of their steps. */
  evaluations: listOfSome(record({ ...signedShape, statement: bytesUpTo(evaluationBytesMax) }), evaluationsMax),
  /** What was logged of the job. */
  log: bundledLog,
};

/** A bundle as it is written. */
export type EvidenceBundle = Shaped<typeof bundleShape> & Partially<Shaped<typeof optionalShape>>;
export type AnyBundle = EvidenceBundle | FormerBundle;

export type BundledSession = EvidenceBundle['sessions'][number];

export function encodeBundle(bundle: AnyBundle): Uint8Array {
  return encodeCanonical(toCbor(bundle));
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE, BUNDLE_VERSION for a version that this reader does not know */
export function parseBundle(encoded: Uint8Array): AnyBundle {
  checkLength('evidence bundle', encoded, bundleBytesMax);
  const decoded = decodeCanonical(encoded);
  const version = decoded instanceof Map ? decoded.get('version') : undefined;
  if (version === 4) return recordWith(bundleShape, optionalShape)(decoded, 'bundle');
  const former = readFormer(version, decoded);
  if (former !== undefined) return former;
  throw new Rejection('BUNDLE_VERSION', {
    expected: 'an evidence bundle of version 1 to 4',
    got: typeof version === 'number' ? `version ${version}` : 'no version',
    rule: 'attestation/SPEC.md, bundle',
    action: 'read it with a newer release',
  });
}

/** Names what a bundle shows; its settlement may grow, and the log that names it joins: both leave the digest as it is. */
export function bundleDigest(bundle: EvidenceBundle): Digest {
  const { settlement: _settlement, log: _log, ...shown } = bundle;
  return sha256(concatBytes(utf8('veritrain-bundle/1'), encodeCanonical(toCbor(shown))));
}
