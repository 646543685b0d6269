/**
 * The challenge of a key broker or attestor. It says itself when it was made and for which job, under a secret of the
 * process that made it, so that nothing is stored when it is issued. The HMAC is its maker's; here is what it covers.
 */
import { concatBytes, equalBytes, uintBe, uintFromBe, utf8 } from '../base/bytes.js';
import { exactBytes, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

const randomBytes = 8;
const macBytes = 16;

export interface Challenge {
  /** Unix seconds. */
  readonly time: number;
  readonly random: Uint8Array;
}

/** What the HMAC-SHA256 is over. */
export function challengeMessage(jobId: Digest, { time, random }: Challenge): Uint8Array {
  const parts = [exactBytes('jobId', jobId), uintBe(time, 8), exactBytes('random', random, randomBytes)];
  return concatBytes(utf8('veritrain/nonce/2'), ...parts);
}

/** u64 time ‖ 8 random ‖ the first 16 bytes of the HMAC: 32 bytes. */
export function encodeChallenge({ time, random }: Challenge, mac: Uint8Array): Uint8Array {
  return concatBytes(
    uintBe(time, 8),
    exactBytes('random', random, randomBytes),
    exactBytes('mac', mac).slice(0, macBytes),
  );
}

/** @throws Rejection DIGEST_LENGTH, CHALLENGE_TIME */
export function parseChallenge(nonce: Uint8Array): Challenge {
  const time = uintFromBe(exactBytes('nonce', nonce).subarray(0, 8));
  if (time < 2n ** 40n) return { time: Number(time), random: nonce.slice(8, 8 + randomBytes) };
  throw new Rejection('CHALLENGE_TIME', {
    expected: 'a challenge with a time in unix seconds',
    got: `${time}`,
    rule: 'attestation/SPEC.md, key release',
  });
}

/** @throws Rejection CHALLENGE_MAC when another process, or nobody, made the nonce for this job */
export function checkChallenge(nonce: Uint8Array, mac: Uint8Array): void {
  if (equalBytes(nonce.subarray(8 + randomBytes), exactBytes('mac', mac).subarray(0, macBytes))) return;
  throw new Rejection('CHALLENGE_MAC', {
    expected: 'a challenge of this process for this job',
    got: 'another nonce',
    rule: 'attestation/SPEC.md, key release',
    action: 'ask for a new challenge and make the evidence again',
  });
}
