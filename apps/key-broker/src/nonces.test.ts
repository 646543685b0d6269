import { describe, expect, it } from 'vitest';
import { createNonceBook, type NonceBook } from './nonces.js';

const at = 1_780_000_000;
const jobId = 'aa'.repeat(32);
const host = '192.0.2.1';
const jobOf = (index: number): string => index.toString(16).padStart(64, '0');

/** Fills the book, each challenge for a job and, every 200, an address of its own. */
function fill(book: NonceBook, count: number): void {
  for (let index = 0; index < count; index++) book.issue(jobOf(index), at, `host ${Math.floor(index / 200)}`);
}

describe('nonces', () => {
  it('are taken once', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at, host);
    book.spend(nonce, jobId, at);
    expect(() => book.spend(nonce, jobId, at)).toThrow(/NONCE_UNKNOWN/);
  });

  it('that nobody issued are unknown', () => {
    expect(() => createNonceBook().spend(new Uint8Array(32), jobId, at)).toThrow(/NONCE_UNKNOWN/);
  });

  it('expire, to the second', () => {
    const book = createNonceBook();
    const { nonce, expiresAt } = book.issue(jobId, at, host);
    const other = book.issue(jobId, at, host);
    book.spend(nonce, jobId, expiresAt - 1);
    expect(() => book.spend(other.nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('of another job are refused, and spent', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at, host);
    expect(() => book.spend(nonce, 'bb'.repeat(32), at)).toThrow(/NONCE_JOB/);
    expect(() => book.spend(nonce, jobId, at)).toThrow(/NONCE_UNKNOWN/);
  });

  it('over which nothing was decided are open again, and for no longer than before', () => {
    const book = createNonceBook();
    const { nonce, expiresAt } = book.issue(jobId, at, host);
    book.spend(nonce, jobId, at).reopen();
    const { issuedAt, reopen } = book.spend(nonce, jobId, at + 5);
    expect(issuedAt).toBe(at);
    reopen();
    expect(() => book.spend(nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('outstanding are bounded: none is given up for another, and time makes room', () => {
    const book = createNonceBook();
    const first = book.issue(jobId, at, host);
    fill(book, 9_999);
    expect(() => book.issue(jobId, at, host)).toThrow('NONCES_OUTSTANDING');
    book.spend(first.nonce, jobId, at);
    expect(book.issue(jobId, at, host).expiresAt).toBe(first.expiresAt);
    expect(book.issue(jobId, first.expiresAt, host).expiresAt).toBeGreaterThan(first.expiresAt);
  });

  it('outstanding are bounded for one job and from one address, and others still get theirs', () => {
    const book = createNonceBook();
    for (let index = 0; index < 16; index++) book.issue(jobId, at, `host ${index}`);
    expect(() => book.issue(jobId, at, host)).toThrow(/NONCES_OUTSTANDING: expected fewer than 16 .* this job/);
    for (let index = 0; index < 256; index++) book.issue(jobOf(index), at, host);
    expect(() => book.issue(jobOf(999), at, host)).toThrow(/NONCES_OUTSTANDING: expected fewer than 256 .* address/);
    book.issue(jobOf(999), at, 'host 1');
  });
});
