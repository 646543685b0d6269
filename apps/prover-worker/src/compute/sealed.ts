/** What a prover opens and seals: shards with the data key, checkpoints with it and the host's half, the result for the client alone. */
import { webcrypto } from 'node:crypto';
import { x25519 } from '@noble/curves/ed25519.js';
import { concatBytes, Rejection, toHex } from '#attestation/base';
import {
  checkpointAssociatedData,
  checkpointKeyInfo,
  deliveryAssociatedData,
  deliveryKey,
  encodeCheckpoint,
  parseCheckpoint,
  shardAssociatedData,
  type Checkpoint,
  type DatasetManifest,
} from '#attestation/records';

const nonceBytes = 12;
const { subtle } = webcrypto;

/** @throws Rejection SHARD_LENGTH, SHARD_DIGEST, SHARD_AUTHENTICATION */
export async function openShard(
  dataset: DatasetManifest,
  index: number,
  ciphertext: Uint8Array,
  dataKey: Uint8Array,
): Promise<Uint8Array> {
  const { bytes, nonce, sha256 } = dataset.shards[index]!;
  if (ciphertext.length !== bytes) throw refused('SHARD_LENGTH', `shard ${index} of ${bytes} bytes`, 'another length');
  const digest = toHex(new Uint8Array(await subtle.digest('SHA-256', plain(ciphertext))));
  if (digest !== toHex(sha256)) throw refused('SHARD_DIGEST', `shard ${index} with SHA-256 ${toHex(sha256)}`, digest);
  const associatedData = shardAssociatedData(dataset, index);
  return open('SHARD_AUTHENTICATION', dataKey, nonce, ciphertext, associatedData);
}

/** @param secret  of checkpointSecret, as below */
export async function sealCheckpoint(
  secret: Uint8Array,
  jobId: Uint8Array,
  checkpoint: Checkpoint,
): Promise<Uint8Array> {
  const key = await checkpointKey(secret, jobId);
  return seal(key, encodeCheckpoint(checkpoint), checkpointAssociatedData(jobId));
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE */
export async function openCheckpoint(secret: Uint8Array, jobId: Uint8Array, sealed: Uint8Array): Promise<Checkpoint> {
  const key = await checkpointKey(secret, jobId);
  const [nonce, ciphertext] = [sealed.subarray(0, nonceBytes), sealed.subarray(nonceBytes)];
  return parseCheckpoint(
    await open('CHECKPOINT_AUTHENTICATION', key, nonce, ciphertext, checkpointAssociatedData(jobId)),
  );
}

/** A fresh key of the prover ‖ nonce ‖ ciphertext: opens with the recipient's secret. No seal binds it, so no key is held back. */
export async function sealResult(
  result: Uint8Array,
  recipient: Uint8Array,
  jobId: Uint8Array,
  last: Uint8Array,
): Promise<Uint8Array> {
  const secret = x25519.utils.randomSecretKey();
  const key = deliveryKey(new Uint8Array(32), x25519.getSharedSecret(secret, recipient), jobId);
  return concatBytes(x25519.getPublicKey(secret), await seal(key, result, deliveryAssociatedData(jobId, last)));
}

async function checkpointKey(secret: Uint8Array, salt: Uint8Array): Promise<Uint8Array> {
  const key = await subtle.importKey('raw', plain(secret), 'HKDF', false, ['deriveBits']);
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: plain(salt), info: plain(checkpointKeyInfo()) };
  return new Uint8Array(await subtle.deriveBits(parameters, key, 256));
}

async function open(
  code: string,
  key: Uint8Array,
  iv: Uint8Array,
  ciphertext: Uint8Array,
  additionalData: Uint8Array,
): Promise<Uint8Array> {
  const aes = await subtle.importKey('raw', plain(key), 'AES-GCM', false, ['decrypt']);
  try {
    const parameters = { name: 'AES-GCM', iv: plain(iv), additionalData: plain(additionalData) };
    return new Uint8Array(await subtle.decrypt(parameters, aes, plain(ciphertext)));
  } catch {
    throw refused(code, 'bytes as they were encrypted for this job', 'bytes that do not authenticate');
  }
}

async function seal(key: Uint8Array, plaintext: Uint8Array, additionalData: Uint8Array): Promise<Uint8Array> {
  const iv = webcrypto.getRandomValues(new Uint8Array(nonceBytes));
  const aes = await subtle.importKey('raw', plain(key), 'AES-GCM', false, ['encrypt']);
  const parameters = { name: 'AES-GCM', iv, additionalData: plain(additionalData) };
  return concatBytes(iv, new Uint8Array(await subtle.encrypt(parameters, aes, plain(plaintext))));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'NIST SP 800-38D; enclave/SPEC.md' });
}

function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
