/**
 * Checkpoints of a job: weights and borders so far, the receipt behind every border and the sessions that signed them.
 * Their key follows from the data key and the host's secret together, so neither data owner nor host alone opens one.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, toHex, uintBe, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { exactBytes, type Digest } from '../base/digest.js';
import { checkpointWeightsBytesMax, evaluationBytesMax, evaluationsMax, stateBytesMax } from '../base/limits.js';
import {
  bytes,
  bytesUpTo,
  list,
  oneOf,
  record,
  recordWith,
  toCbor,
  uint,
  type Field,
  type Partially,
  type Shaped,
} from '../base/shape.js';
import { bordersMax } from './borders.js';
import { bindingShape } from './evidence.js';
import { receiptBytesMax } from './receipt.js';

/** Sessions behind the borders of one job. */
export const checkpointSessionsMax = 32;
const seconds = uint(2 ** 40 - 1);

/** A Lease as it travels. */
export const leaseShape = {
  ...{ job: bytes(32), session: bytes(32), policy: bytes(32), evidence: bytes(32), nonce: bytes(32) },
  ...{ grantedAt: seconds, notAfter: seconds },
};

/** A session and its key broker's word that it may work on this job. */
export const releasedShape = {
  binding: record(bindingShape),
  release: record({ ...leaseShape, provider: bytes(20), dataset: bytes(32), key: bytes(20), grant: bytes(32) }),
  signature: bytes(65),
};

export type ReleasedSession = Shaped<typeof releasedShape>;

const linkShape = { session: uint(checkpointSessionsMax - 1), receipt: bytesUpTo(receiptBytesMax) };
const roundLinkShape = { ...linkShape, partials: bytes(32) };

export type Link = Shaped<typeof linkShape> & {
  /** Of a data-parallel job: what its round statement names beside steps and borders. */
  readonly partials?: Uint8Array;
};

const link: Field<Link> = (value, path) =>
  value instanceof Map && value.has('partials') ? record(roundLinkShape)(value, path) : record(linkShape)(value, path);

const chainShape = {
  /** Steps done. */
  step: uint(),
  /** weightsDigest at every segment border so far; the first is the start's, the last this checkpoint's. */
  borders: list(bytes(32), bordersMax),
  /** The receipt behind every border but the first, and which of `sessions` signed it; none where nobody signed. */
  links: list(link, bordersMax - 1),
  sessions: list(record(releasedShape), checkpointSessionsMax),
};

const checkpointShape = {
  ...chainShape,
  version: oneOf(2),
  /** Canonical tensor bytes (libs/step/SPEC.md §11). */
  weights: bytesUpTo(checkpointWeightsBytesMax),
};

/** Of a checkpoint in pieces: the bytes themselves follow behind the head. */
const headShape = { ...chainShape, version: oneOf(3), weights: uint(stateBytesMax) };

/** Evaluations so far, in the order of their steps, each by which of `sessions`. */
const evaluations = list(
  record({
    ...{ session: uint(checkpointSessionsMax - 1), statement: bytesUpTo(evaluationBytesMax) },
    receipt: bytesUpTo(receiptBytesMax),
  }),
  evaluationsMax,
);

/** Members that a checkpoint has only where its job evaluates. */
const evaluatedShape = {
  evaluations,
  /** In a job with the rule `stop`: weights of the best evaluation where they are not those above. */
  best: bytesUpTo(checkpointWeightsBytesMax),
};

const evaluatedHeadShape = { evaluations, best: uint(stateBytesMax) };

/** A checkpoint in pieces, but for its weights: how many bytes of them, and of the best ones, follow. */
export type CheckpointHead = Shaped<typeof headShape> & Partially<Shaped<typeof evaluatedHeadShape>>;

export type Checkpoint = Shaped<typeof checkpointShape> & Partially<Shaped<typeof evaluatedShape>>;

const tag = utf8('veritrain/checkpoint/v2');

/** HKDF `info` of the sealing key; the salt is the job id, the secret `checkpointSecret`. */
export function checkpointKeyInfo(): Uint8Array {
  return tag.slice();
}

/** The same for the partials of workers. */
export function partialKeyInfo(): Uint8Array {
  return utf8('veritrain/checkpoint/partial/v2');
}

/** Data key ‖ host secret. */
export function checkpointSecret(dataKey: Uint8Array, hostSecret: Uint8Array): Uint8Array {
  return concatBytes(exactBytes('data key', dataKey), exactBytes('host secret', hostSecret));
}

/** Of one escrow, the same on every machine of the provider. @param secret of the provider's settings */
export function hostSecretOf(secret: Uint8Array, job: Digest): Uint8Array {
  return hmac(sha256, secret, concatBytes(utf8('veritrain/host-secret/1'), exactBytes('job', job)));
}

export function checkpointAssociatedData(jobId: Digest): Uint8Array {
  return concatBytes(tag, exactBytes('jobId', jobId));
}

export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  return encodeCanonical(toCbor(checkpoint));
}

/** @throws Rejection CBOR_*, MESSAGE_SHAPE */
export function parseCheckpoint(opened: Uint8Array): Checkpoint {
  return recordWith(checkpointShape, evaluatedShape)(decodeCanonical(opened), 'checkpoint');
}

/** u32 length ‖ CBOR: what the plaintext of a checkpoint in pieces begins with; its weights follow, then the best ones. */
export function encodeCheckpointHead(head: CheckpointHead): Uint8Array {
  const encoded = encodeCanonical(toCbor(head));
  return concatBytes(uintBe(encoded.length, 4), encoded);
}

/** @param take the next bytes of the plaintext @throws Rejection CBOR_*, MESSAGE_SHAPE, and what `take` throws */
export function readCheckpointHead(take: (bytes: number) => Uint8Array): CheckpointHead {
  const length = Number(BigInt(`0x${toHex(take(4))}`));
  return recordWith(headShape, evaluatedHeadShape)(decodeCanonical(take(length)), 'checkpoint');
}

/** Associated data of each piece of a checkpoint. */
export function checkpointPiecesContext(jobId: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/checkpoint/v3'), exactBytes('jobId', jobId));
}
