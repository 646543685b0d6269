/** Single-use nonces for fresh evidence. They live in memory: a restart forgets them, so nothing old is ever accepted. */
import { randomBytes } from 'node:crypto';
import { CollateralError, Rejection, toHex } from '#attestation';

const lifetimeSeconds = 120;
const outstandingMax = 10_000;

export interface Challenge {
  readonly nonce: Uint8Array;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export interface NonceBook {
  /** @throws CollateralError NONCES_OUTSTANDING while too many wait to be used: none is given up for another */
  issue(jobId: string, at: number): Challenge;
  /** @throws Rejection NONCE_UNKNOWN, NONCE_EXPIRED, NONCE_JOB; whatever the outcome, the nonce is spent */
  spend(nonce: Uint8Array, jobId: string, at: number): void;
}

export function createNonceBook(): NonceBook {
  const open = new Map<string, { jobId: string; expiresAt: number }>();
  return {
    issue(jobId, at) {
      for (const [key, entry] of open) if (entry.expiresAt <= at) open.delete(key);
      if (open.size >= outstandingMax) throw full();
      const nonce = new Uint8Array(randomBytes(32));
      const expiresAt = at + lifetimeSeconds;
      open.set(toHex(nonce), { jobId, expiresAt });
      return { nonce, expiresAt };
    },
    spend(nonce, jobId, at) {
      const key = toHex(nonce);
      const entry = open.get(key);
      open.delete(key);
      if (entry === undefined) throw refused('NONCE_UNKNOWN', 'a nonce of this broker that was not used before', key);
      if (entry.jobId !== jobId) throw refused('NONCE_JOB', `the nonce issued for job ${jobId}`, entry.jobId);
      if (entry.expiresAt <= at) throw refused('NONCE_EXPIRED', `evidence before ${entry.expiresAt}`, `${at}`);
    },
  };
}

function full(): CollateralError {
  return new CollateralError('NONCES_OUTSTANDING', {
    expected: `fewer than ${outstandingMax} challenges that wait for evidence`,
    got: `${outstandingMax}`,
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
