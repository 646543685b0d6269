/**
 * How a data owner's key broker hands a data key to one enclave session for one job: HPKE (RFC 9180, base mode,
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM) to the session's transport key. Anybody can seal to that key:
 * the broker's signed Release names the digest of what it sealed, and nothing else is opened.
 */
import { concatBytes, utf8 } from '../base/bytes.js';
import { exactBytes, taggedDigest, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { keysDigest, type KeyBinding } from './key-binding.js';

export interface DataKey {
  /** The data set it opens, 32 bytes. */
  readonly datasetId: Uint8Array;
  /** AES-256 key, 32 bytes. */
  readonly key: Uint8Array;
}

const dataKeyBytes = 64;

/** HPKE `info`: the release is for this job and no other. */
export function keyReleaseInfo(jobId: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/key-release/v2'), exactBytes('jobId', jobId));
}

/** HPKE `aad`: the release is for the session with exactly these keys, in this escrow. @param job `escrowIdOf` of its terms */
export function keyReleaseAad(binding: KeyBinding, job: Digest): Uint8Array {
  return concatBytes(keysDigest(binding), exactBytes('job', job));
}

/** What a prover without a TEE signs with its account when it asks for a data key, and the HPKE `aad` of the answer. */
export function proverRequestDigest(jobId: Digest, nonce: Uint8Array, transportKey: Uint8Array): Digest {
  return taggedDigest('veritrain/prover-release/v1', concatBytes(jobId, nonce, transportKey));
}

/** Data set id ‖ data key: the plaintext of a release. */
export function encodeDataKey(dataKey: DataKey): Uint8Array {
  return concatBytes(exactBytes('datasetId', dataKey.datasetId), exactBytes('key', dataKey.key));
}

/** @throws Rejection DATA_KEY_LENGTH */
export function parseDataKey(bytes: Uint8Array): DataKey {
  if (bytes.length === dataKeyBytes) return { datasetId: bytes.slice(0, 32), key: bytes.slice(32) };
  throw new Rejection('DATA_KEY_LENGTH', {
    expected: `${dataKeyBytes} bytes: data set id and key`,
    got: `${bytes.length} bytes`,
    rule: 'attestation/SPEC.md, key release',
  });
}
