import { describe, expect, it } from 'vitest';
import { createNonceBook } from './nonces.js';

const at = 1_780_000_000;
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const [jobId, keys, otherKeys] = [bytes(0xaa), bytes(1), bytes(2)];

describe('nonces', () => {
  it('are taken once by the same keys', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at);
    expect(book.check(nonce, jobId, at + 1)).toBe(at);
    book.spend(nonce, keys, at + 1);
    expect(() => book.spend(nonce, keys, at + 2)).toThrow(/NONCE_SPENT/);
  });

  it('W-H1 are not spent by the keys of another', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at);
    book.spend(nonce, otherKeys, at);
    book.spend(nonce, keys, at);
  });

  it('that this process did not make for this job are unknown', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at);
    expect(() => book.check(bytes(0), jobId, at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => book.check(bytes(0xff), jobId, at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => book.check(nonce, bytes(0xbb), at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => createNonceBook().check(nonce, jobId, at)).toThrow(/NONCE_UNKNOWN/);
    for (let index = 0; index < 32; index++) {
      const changed = nonce.map((byte, place) => (place === index ? byte ^ 1 : byte));
      expect(() => book.check(changed, jobId, at), `byte ${index}`).toThrow(/NONCE_UNKNOWN/);
    }
  });

  it('expire, to the second', () => {
    const book = createNonceBook();
    const { nonce, expiresAt } = book.issue(jobId, at);
    expect(expiresAt).toBe(at + 120);
    book.check(nonce, jobId, expiresAt - 1);
    expect(() => book.check(nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('outlive a clock that was set back a little, and not one that was set back far', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at);
    expect(book.check(nonce, jobId, at - 5)).toBe(at - 5);
    expect(() => book.check(nonce, jobId, at - 3600)).toThrow(/NONCE_EXPIRED/);
  });

  it('stay spent for as long as they could be shown', () => {
    const book = createNonceBook();
    const { nonce } = book.issue(jobId, at);
    book.spend(nonce, keys, at - 5);
    const later = book.issue(jobId, at + 119);
    book.spend(later.nonce, keys, at + 119);
    expect(() => book.spend(nonce, keys, at + 119)).toThrow(/NONCE_SPENT/);
  });

  it('over which nothing was decided are open again, and for no longer than before', () => {
    const book = createNonceBook();
    const { nonce, expiresAt } = book.issue(jobId, at);
    book.spend(nonce, keys, at);
    book.reopen(nonce, keys);
    book.spend(nonce, keys, at + 5);
    book.reopen(nonce, keys);
    expect(() => book.check(nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('W-H1 are issued without end: nobody can use up those of a job, and none is kept', () => {
    const book = createNonceBook();
    const first = book.issue(jobId, at);
    for (let index = 0; index < 10_000; index++) book.issue(jobId, at);
    const last = book.issue(jobId, at);
    for (const { nonce } of [first, last]) {
      book.check(nonce, jobId, at);
      book.spend(nonce, keys, at);
    }
  });
});
