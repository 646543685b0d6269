/** Single-use nonces for fresh evidence. They live in memory: a restart forgets them, so nothing old is ever accepted. */
import { randomBytes } from 'node:crypto';
import { CollateralError, Rejection, toHex } from '#attestation';

const lifetimeSeconds = 120;
const outstandingMax = 10_000;
const outstandingPerAddressMax = 256;
const outstandingPerJobMax = 16;

export interface Challenge {
  readonly nonce: Uint8Array;
  /** Unix seconds. */
  readonly expiresAt: number;
}

export interface SpentNonce {
  /** Unix seconds. */
  readonly issuedAt: number;
  /** For a request that nothing could be decided about. */
  reopen(): void;
}

export interface NonceBook {
  /**
   * @param address of whoever asks
   * @throws CollateralError NONCES_OUTSTANDING while too many wait to be used, in all, for this job or from this address:
   *   none is given up for another
   */
  issue(jobId: string, at: number, address: string): Challenge;
  /**
   * @throws Rejection NONCE_UNKNOWN, NONCE_EXPIRED, NONCE_JOB; whatever the outcome, the nonce is spent
   */
  spend(nonce: Uint8Array, jobId: string, at: number): SpentNonce;
}

interface Entry {
  readonly jobId: string;
  readonly address: string;
  readonly expiresAt: number;
}

export function createNonceBook(): NonceBook {
  const open = new Map<string, Entry>();
  return {
    issue(jobId, at, address) {
      for (const [key, entry] of open) if (entry.expiresAt <= at) open.delete(key);
      const entries = [...open.values()];
      atMost(outstandingMax, entries.length, 'challenges');
      atMost(outstandingPerJobMax, count(entries, 'jobId', jobId), 'challenges for this job');
      atMost(outstandingPerAddressMax, count(entries, 'address', address), 'challenges from this address');
      const nonce = new Uint8Array(randomBytes(32));
      const expiresAt = at + lifetimeSeconds;
      open.set(toHex(nonce), { jobId, address, expiresAt });
      return { nonce, expiresAt };
    },
    spend(nonce, jobId, at) {
      const key = toHex(nonce);
      const entry = open.get(key);
      open.delete(key);
      if (entry === undefined) throw refused('NONCE_UNKNOWN', 'a nonce of this broker that was not used before', key);
      if (entry.jobId !== jobId) throw refused('NONCE_JOB', `the nonce issued for job ${jobId}`, entry.jobId);
      if (entry.expiresAt <= at) throw refused('NONCE_EXPIRED', `evidence before ${entry.expiresAt}`, `${at}`);
      return { issuedAt: entry.expiresAt - lifetimeSeconds, reopen: () => void open.set(key, entry) };
    },
  };
}

function count(entries: readonly Entry[], field: 'jobId' | 'address', value: string): number {
  return entries.filter((entry) => entry[field] === value).length;
}

function atMost(max: number, got: number, what: string): void {
  if (got < max) return;
  throw new CollateralError('NONCES_OUTSTANDING', {
    expected: `fewer than ${max} ${what} that wait for evidence`,
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
