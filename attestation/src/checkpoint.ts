/**
 * Checkpoints of a job: the weights and borders so far, sealed under a key that follows from the data key. Whoever may
 * read the data may go on with the training, enclave and prover alike (enclave SPEC, checkpoints).
 */
import { concatBytes, utf8 } from './bytes.js';
import { decodeCanonical, encodeCanonical } from './cbor.js';
import { checkpointWeightsBytesMax } from './limits.js';
import { bytes, bytesUpTo, list, oneOf, record, toCbor, uint, type Shaped } from './shape.js';
import { bordersMax } from './statement/borders.js';
import { exactBytes, type Digest } from './statement/digest.js';

const checkpointShape = {
  version: oneOf(1),
  /** Steps done. */
  step: uint(),
  /** weightsDigest at every segment border so far; the first is the start's, the last this checkpoint's. */
  borders: list(bytes(32), bordersMax),
  /** Canonical tensor bytes (fixed-point §11). */
  weights: bytesUpTo(checkpointWeightsBytesMax),
};

export type Checkpoint = Shaped<typeof checkpointShape>;

const tag = utf8('veritrain/checkpoint/v1');

/** HKDF `info` of the sealing key; the salt is the job id, the secret the data key. */
export function checkpointKeyInfo(): Uint8Array {
  return tag.slice();
}

export function checkpointAssociatedData(jobId: Digest): Uint8Array {
  return concatBytes(tag, exactBytes('jobId', jobId));
}

export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  return encodeCanonical(toCbor(checkpoint));
}

/** @throws Rejection CBOR_*, MESSAGE_SHAPE */
export function parseCheckpoint(opened: Uint8Array): Checkpoint {
  return record(checkpointShape)(decodeCanonical(opened), 'checkpoint');
}
