/**
 * Single-use nonces for fresh evidence. Each says itself when it was made and for which job, under a secret of this
 * process: nothing is kept when one is issued, so nobody can use them up for others, and a restart ends them all.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { Rejection, toHex, CollateralError } from '#attestation/base';
import {
  challengeMessage,
  checkChallenge,
  encodeChallenge,
  parseChallenge,
  type Challenge as ChallengeParts,
} from '#attestation/records';

const lifetimeSeconds = 120;
/** A clock that was set back a little ends nothing. */
const aheadSecondsMax = 5;
/** Decisions within one lifetime; each took a valid proof by a key, and the limits of its address. */
const spentMax = 100_000;

interface Challenge {
  readonly nonce: Uint8Array;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export interface NonceStore {
  issue(jobId: Uint8Array, at: number): Challenge;
  /**
   * @returns when it was issued, unix seconds
   * @throws Rejection NONCE_UNKNOWN for one that this process did not make for this job, NONCE_EXPIRED
   */
  check(nonce: Uint8Array, jobId: Uint8Array, at: number): number;
  /**
   * Spends the nonce for these keys; other keys still find it unspent.
   * @param keys digest of a session's keys, or whatever else the request was signed by
   * @throws Rejection NONCE_SPENT; CollateralError NONCES_SPENT while more was decided than is remembered
   */
  spend(nonce: Uint8Array, keys: Uint8Array, at: number): void;
  /** After a request that nothing could be decided about. */
  reopen(nonce: Uint8Array, keys: Uint8Array): void;
}

export function createNonceStore(secret: Uint8Array = randomBytes(32)): NonceStore {
  const spent = new Map<string, number>();
  const macOf = (jobId: Uint8Array, parts: ChallengeParts): Uint8Array =>
    createHmac('sha256', secret).update(challengeMessage(jobId, parts)).digest();
  const pairOf = (nonce: Uint8Array, keys: Uint8Array): string => `${toHex(nonce)} ${toHex(keys)}`;
  return {
    issue(jobId, at) {
      const parts = { time: at, random: new Uint8Array(randomBytes(8)) };
      return { nonce: encodeChallenge(parts, macOf(jobId, parts)), expiresAt: at + lifetimeSeconds };
    },
    check(nonce, jobId, at) {
      const { time } = authentic(nonce, jobId, macOf);
      const expiresAt = time + lifetimeSeconds;
      if (expiresAt <= at) throw refused('NONCE_EXPIRED', `evidence before ${expiresAt}`, `${at}`);
      if (time > at + aheadSecondsMax) throw refused('NONCE_EXPIRED', `a nonce made until ${at}`, `one of ${time}`);
      return Math.min(time, at);
    },
    spend(nonce, keys, at) {
      for (const [pair, until] of spent) {
        if (until > at) break;
        spent.delete(pair);
      }
      const pair = pairOf(nonce, keys);
      if (spent.has(pair)) throw refused('NONCE_SPENT', 'a nonce that was not used before', toHex(nonce));
      if (spent.size >= spentMax) throw full(spent.size);
      spent.set(pair, at + lifetimeSeconds + aheadSecondsMax);
    },
    reopen: (nonce, keys) => void spent.delete(pairOf(nonce, keys)),
  };
}

function authentic(
  nonce: Uint8Array,
  jobId: Uint8Array,
  macOf: (jobId: Uint8Array, parts: ChallengeParts) => Uint8Array,
): ChallengeParts {
  try {
    const parts = parseChallenge(nonce);
    checkChallenge(nonce, macOf(jobId, parts));
    return parts;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw refused('NONCE_UNKNOWN', 'a nonce that this process made for this job', toHex(nonce));
  }
}

function full(got: number): CollateralError {
  return new CollateralError('NONCES_SPENT', {
    expected: `fewer than ${spentMax} decisions in ${lifetimeSeconds} seconds`,
    got: `${got}`,
    rule: 'RFC 9334 §10.2, freshness by nonce',
    action: `ask again within ${lifetimeSeconds} seconds`,
  });
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'RFC 9334 §10.2, freshness by nonce',
    action: 'ask for a new challenge and produce fresh evidence',
  });
}
