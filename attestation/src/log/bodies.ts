/** What an entry says, for each kind. */
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { Rejection } from '../base/errors.js';
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
  type Field,
} from '../base/shape.js';
import { openingBytesMax } from '../base/limits.js';

const seconds = uint(2 ** 40 - 1);
const digest = bytes(32);
const name = text(128);

const journal = { lines: uint(), bytes: uint() };

/** The public sees issuer, kind and time of these; their bodies stay with the job. */
const sealedBodies = {
  'job-bundle': record({
    bundle: digest,
    escrow: digest,
    tier: text(32),
    policy: digest,
    verifier: text(64),
    outcome: uint(255),
  }),
  'key-release': record({
    job: digest,
    dataset: digest,
    /** `keysDigest` of the session. */
    keys: digest,
    /** SHA-256 of the evidence. */
    evidence: digest,
    /** SHA-256 of the sealed data key. */
    grant: digest,
    notAfter: seconds,
  }),
  /** `root`: RFC 6962 over its renewals. */
  'session-end': record({ session: digest, reason: text(64), root: digest, renewals: uint() }),
  'journal-head': record({ ...journal, head: digest }),
  /** `root`: RFC 6962 over the lines; `file`: SHA-256 of all of them. */
  'journal-import': record({ ...journal, file: digest, root: digest }),
};

const publicBodies = {
  policy: record({
    id: name,
    digest,
    document: nullable(bytesUpTo(3000)),
    signers: list(digest, 16),
    validFrom: seconds,
  }),
  image: record({
    name,
    version: text(64),
    digest,
    measurements: list(record({ kind: text(32), value: bytesUpTo(64) }), 16),
    commit: bytesUpTo(32),
    sbom: nullable(digest),
  }),
  floors: record({ digest, date: seconds, advisories: list(text(64), 40) }),
  /** `id` is SHA-256(salt ‖ id) where there is a salt. */
  revocation: record({
    what: oneOf('issuer', 'measurement', 'policy', 'chip', 'broker'),
    id: bytesUpTo(64),
    salt: nullable(bytes(16)),
    reason: text(256),
    from: seconds,
  }),
  issuer: record({
    key: digest,
    name,
    kinds: list(text(32), 16),
    validFrom: seconds,
    until: seconds,
    /** A key broker's account and its signature over `issuerDigest`. */
    account: nullable(record({ address: bytes(20), signature: bytes(65) })),
  }),
  anchor: record({ chainId: uint(), contract: bytes(20), transaction: digest, size: uint(), root: digest }),
};

type Bodies = typeof sealedBodies & typeof publicBodies;
export type SealedKind = keyof typeof sealedBodies;
export type PublicKind = keyof typeof publicBodies;
export type EntryKind = keyof Bodies;
export type EntryBody<K extends EntryKind> = Bodies[K] extends Field<infer T> ? T : never;

export const isSealedKind = (kind: string): kind is SealedKind => Object.hasOwn(sealedBodies, kind);
export const isPublicKind = (kind: string): kind is PublicKind => Object.hasOwn(publicBodies, kind);

/** @throws Rejection MESSAGE_SHAPE */
export function publicBody<K extends PublicKind>(kind: K, value: unknown): EntryBody<K> {
  return publicBodies[kind](value, kind) as EntryBody<K>;
}

/** @throws Rejection MESSAGE_SHAPE where the body is not of its kind, MESSAGE_SIZE */
export function encodeBody<K extends SealedKind>(kind: K, body: EntryBody<K>): Uint8Array {
  const encoded = encodeCanonical(toCbor(body));
  readBody(kind, encoded);
  return encoded;
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function readBody<K extends SealedKind>(kind: K, encoded: Uint8Array): EntryBody<K> {
  checkLength('body of a log entry', encoded, openingBytesMax);
  return sealedBodies[kind](decodeCanonical(encoded), kind) as EntryBody<K>;
}

export function unknownKind(kind: string): Rejection {
  return new Rejection('LOG_ENTRY_KIND', {
    expected: [...Object.keys(sealedBodies), ...Object.keys(publicBodies)].join(', '),
    got: kind,
    rule: 'attestation/LOG.md §1',
    action: 'read it with a newer release',
  });
}
