/**
 * How a data owner's key broker hands a data key to one enclave session for one job: HPKE (RFC 9180, base mode,
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM) to the session's transport key.
 */
import { concatBytes, utf8 } from './bytes.js';
import { Rejection } from './errors.js';
import { keysDigest, type KeyBinding } from './key-binding.js';
import { encodeSessionLease, parseSessionLease, sessionLeaseBytes, type SessionLease } from './session-lease.js';
import { exactBytes, taggedDigest, type Digest } from './statement/digest.js';

export interface DataKey {
  /** The data set it opens, 32 bytes. */
  readonly datasetId: Uint8Array;
  /** AES-256 key, 32 bytes. */
  readonly key: Uint8Array;
}

/** What is sealed to an enclave session: the data key, and for how long it may be used. */
export interface KeyGrant extends DataKey {
  /** Account of the key broker, 20 bytes: whose signature prolongs the lease. */
  readonly broker: Uint8Array;
  readonly lease: SessionLease;
}

const dataKeyBytes = 64;
const brokerBytes = 20;

/** HPKE `info`: the release is for this job and no other. */
export function keyReleaseInfo(jobId: Digest): Uint8Array {
  return concatBytes(utf8('veritrain/key-release/v1'), exactBytes('jobId', jobId));
}

/** HPKE `aad`: the release is for the session with exactly these keys. */
export function keyReleaseAad(binding: KeyBinding): Uint8Array {
  return keysDigest(binding);
}

/** What a prover without a TEE signs with its account when it asks for a data key, and the HPKE `aad` of the answer. */
export function proverRequestDigest(jobId: Digest, nonce: Uint8Array, transportKey: Uint8Array): Digest {
  return taggedDigest('veritrain/prover-release/v1', concatBytes(jobId, nonce, transportKey));
}

export function encodeDataKey(dataKey: DataKey): Uint8Array {
  return concatBytes(exactBytes('datasetId', dataKey.datasetId), exactBytes('key', dataKey.key));
}

/** @throws Rejection DATA_KEY_LENGTH */
export function parseDataKey(bytes: Uint8Array): DataKey {
  checkLength(bytes, dataKeyBytes, 'data set id and key');
  return { datasetId: bytes.slice(0, 32), key: bytes.slice(32) };
}

/** Data key ‖ broker ‖ lease, 132 bytes. */
export function encodeKeyGrant(grant: KeyGrant): Uint8Array {
  return concatBytes(
    encodeDataKey(grant),
    exactBytes('broker', grant.broker, brokerBytes),
    encodeSessionLease(grant.lease),
  );
}

/** @throws Rejection DATA_KEY_LENGTH */
export function parseKeyGrant(bytes: Uint8Array): KeyGrant {
  const leaseAt = dataKeyBytes + brokerBytes;
  checkLength(bytes, leaseAt + sessionLeaseBytes, 'data set id, key, broker and lease');
  return {
    ...parseDataKey(bytes.subarray(0, dataKeyBytes)),
    broker: bytes.slice(dataKeyBytes, leaseAt),
    lease: parseSessionLease(bytes.subarray(leaseAt)),
  };
}

function checkLength(bytes: Uint8Array, expected: number, what: string): void {
  if (bytes.length === expected) return;
  throw new Rejection('DATA_KEY_LENGTH', {
    expected: `${expected} bytes: ${what}`,
    got: `${bytes.length} bytes`,
    rule: 'attestation SPEC, key release',
  });
}
