/**
 * Checkpoints: the weights and borders so far, with the receipt behind every border and the sessions that signed them.
 * They open with the data key and the host's secret together. A successor takes one only where every border has been
 * signed by a session that the job's own key broker released (enclave/SPEC.md, checkpoints).
 */
import {
  checkpointAssociatedData,
  checkpointKeyInfo,
  checkpointSecret,
  encodeCheckpoint,
  parseCheckpoint,
  partialKeyInfo,
  type Checkpoint,
} from '#attestation/records';
import { deriveKey, openWithNonce, sealWithNonce } from './aead.js';

/** What the keys of a job's checkpoints and partials follow from. */
export interface SealingSecrets {
  readonly jobId: Uint8Array;
  readonly dataKey: Uint8Array;
  /** The host's half, 32 bytes. */
  readonly hostSecret: Uint8Array;
}

/** Key of all checkpoints of one job. */
export function checkpointKey(secrets: SealingSecrets): Promise<Uint8Array> {
  return keyOf(secrets, checkpointKeyInfo());
}

/** Key of all partials of one job. */
export function partialKey(secrets: SealingSecrets): Promise<Uint8Array> {
  return keyOf(secrets, partialKeyInfo());
}

function keyOf({ jobId, dataKey, hostSecret }: SealingSecrets, info: Uint8Array): Promise<Uint8Array> {
  return deriveKey(checkpointSecret(dataKey, hostSecret), jobId, info);
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
