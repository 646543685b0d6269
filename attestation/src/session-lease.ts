/**
 * How long a key broker lets one enclave session work on one job. The first lease comes with the data key and is
 * authentic by it; each later one is signed by the account that the first one names (attestation SPEC §9.3).
 */
import { concatBytes, uintBe, uintFromBe } from './bytes.js';
import { keysDigest, type KeyBinding } from './key-binding.js';
import { exactBytes, taggedDigest, type Digest } from './statement/digest.js';

export interface SessionLease {
  /** The broker's nonce over which the session made the evidence that was accepted, 32 bytes. */
  readonly nonce: Uint8Array;
  /** When the broker decided, unix seconds of its clock. */
  readonly grantedAt: number;
  /** Until when the evidence may be relied on, unix seconds of the same clock. */
  readonly notAfter: number;
}

export const sessionLeaseBytes = 48;

/** What the broker's account signs to prolong the lease of one session on one job. */
export function sessionLeaseDigest(jobId: Digest, binding: KeyBinding, lease: SessionLease): Digest {
  return taggedDigest(
    'veritrain/session-lease/v1',
    exactBytes('jobId', jobId),
    keysDigest(binding),
    encodeSessionLease(lease),
  );
}

/** nonce ‖ grantedAt ‖ notAfter, numbers as eight bytes big-endian. */
export function encodeSessionLease({ nonce, grantedAt, notAfter }: SessionLease): Uint8Array {
  return concatBytes(exactBytes('nonce', nonce), uintBe(grantedAt, 8), uintBe(notAfter, 8));
}

/** @throws Rejection DIGEST_LENGTH */
export function parseSessionLease(bytes: Uint8Array): SessionLease {
  const whole = exactBytes('session lease', bytes, sessionLeaseBytes);
  const seconds = (at: number): number => Number(uintFromBe(whole.subarray(at, at + 8)));
  return { nonce: whole.slice(0, 32), grantedAt: seconds(32), notAfter: seconds(40) };
}
