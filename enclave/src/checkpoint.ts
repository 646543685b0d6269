/**
 * Checkpoints: the weights and borders so far, readable by any enclave that the key broker gives this job's data key,
 * and by the data owner. A successor trains on from one without another signature: that its segments were computed by an
 * enclave is shown by their receipts, not by the checkpoint (enclave SPEC, checkpoints).
 */
import {
  bordersMax,
  bytes,
  bytesUpTo,
  concatBytes,
  decodeCanonical,
  encodeCanonical,
  list,
  oneOf,
  record,
  toCbor,
  uint,
  utf8,
  type Shaped,
} from '#attestation';
import { deriveKey, openWithNonce, sealWithNonce } from './aead.js';

/** Leaves room for the borders, so that a whole checkpoint fits one frame of the channel. */
export const checkpointWeightsBytesMax = 12 * 1024 * 1024 - 256 * 1024;

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

/** Key of all checkpoints of one job: derived from the data key, so whoever may read the data may go on training. */
export function checkpointKey(dataKey: Uint8Array, jobId: Uint8Array): Promise<Uint8Array> {
  return deriveKey(dataKey, jobId, utf8('veritrain/checkpoint/v1'));
}

export function sealCheckpoint(key: Uint8Array, jobId: Uint8Array, checkpoint: Checkpoint): Promise<Uint8Array> {
  return sealWithNonce(key, encodeCanonical(toCbor(checkpoint)), associatedData(jobId));
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE */
export async function openCheckpoint(key: Uint8Array, jobId: Uint8Array, sealed: Uint8Array): Promise<Checkpoint> {
  const opened = await openWithNonce(
    'CHECKPOINT_AUTHENTICATION',
    'a checkpoint of this job',
    key,
    sealed,
    associatedData(jobId),
  );
  return record(checkpointShape)(decodeCanonical(opened), 'checkpoint');
}

function associatedData(jobId: Uint8Array): Uint8Array {
  return concatBytes(utf8('veritrain/checkpoint/v1'), jobId);
}
