/**
 * Checkpoints: the weights and borders so far, readable by any enclave that the key broker gives this job's data key,
 * and by the data owner. A successor trains on from one without another signature: that its segments were computed by an
 * enclave is shown by their receipts, not by the checkpoint (enclave SPEC, checkpoints).
 */
import {
  checkpointAssociatedData,
  checkpointKeyInfo,
  encodeCheckpoint,
  parseCheckpoint,
  type Checkpoint,
} from '#attestation';
import { deriveKey, openWithNonce, sealWithNonce } from './aead.js';

/** Key of all checkpoints of one job: derived from the data key, so whoever may read the data may go on training. */
export function checkpointKey(dataKey: Uint8Array, jobId: Uint8Array): Promise<Uint8Array> {
  return deriveKey(dataKey, jobId, checkpointKeyInfo());
}

export function sealCheckpoint(key: Uint8Array, jobId: Uint8Array, checkpoint: Checkpoint): Promise<Uint8Array> {
  return sealWithNonce(key, encodeCheckpoint(checkpoint), checkpointAssociatedData(jobId));
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE */
export async function openCheckpoint(key: Uint8Array, jobId: Uint8Array, sealed: Uint8Array): Promise<Checkpoint> {
  const what = 'a checkpoint of this job';
  return parseCheckpoint(
    await openWithNonce('CHECKPOINT_AUTHENTICATION', what, key, sealed, checkpointAssociatedData(jobId)),
  );
}
