/**
 * How a data owner's key broker hands a data key to one enclave session for one job: HPKE (RFC 9180, base mode,
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM) to the session's transport key.
 */
import { concatBytes, utf8 } from './bytes.js';
import { Rejection } from './errors.js';
import { keysDigest, type KeyBinding } from './key-binding.js';
import { exactBytes, type Digest } from './statement/digest.js';

export interface DataKey {
  /** The data set it opens, 32 bytes. */
  readonly datasetId: Uint8Array;
  /** AES-256 key, 32 bytes. */
  readonly key: Uint8Array;
}

/** HPKE `info`: the release is for this job and no other. */
export function keyReleaseInfo(jobId: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/key-release/v1'), exactBytes('jobId', jobId));
}

/** HPKE `aad`: the release is for the session with exactly these keys. */
export function keyReleaseAad(binding: KeyBinding): Uint8Array {
  return keysDigest(binding);
}

export function encodeDataKey(dataKey: DataKey): Uint8Array {
  return concatBytes(exactBytes('datasetId', dataKey.datasetId), exactBytes('key', dataKey.key));
}

/** @throws Rejection DATA_KEY_LENGTH */
export function parseDataKey(bytes: Uint8Array): DataKey {
  if (bytes.length !== 64) {
    throw new Rejection('DATA_KEY_LENGTH', {
      expected: '64 bytes: data set id and key',
      got: `${bytes.length} bytes`,
      rule: 'attestation SPEC, key release',
    });
  }
  return { datasetId: bytes.slice(0, 32), key: bytes.slice(32) };
}
