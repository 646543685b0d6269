import { describe, expect, it } from 'vitest';
import { createNonceStore } from './nonces.js';

const at = 1_780_000_000;
const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const [jobId, keys, otherKeys] = [bytes(0xaa), bytes(1), bytes(2)];

describe('nonces', () => {
  it('are taken once by the same keys', () => {
    const store = createNonceStore();
    const { nonce } = store.issue(jobId, at);
    expect(store.check(nonce, jobId, at + 1)).toBe(at);
    store.spend(nonce, keys, at + 1);
    expect(() => store.spend(nonce, keys, at + 2)).toThrow(/NONCE_SPENT/);
  });

  it('W-H1 are not spent by the keys of another', () => {
    const store = createNonceStore();
    const { nonce } = store.issue(jobId, at);
    store.spend(nonce, otherKeys, at);
    store.spend(nonce, keys, at);
  });

  it('that this process did not make for this job are unknown', () => {
    const store = createNonceStore();
    const { nonce } = store.issue(jobId, at);
    expect(() => store.check(bytes(0), jobId, at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => store.check(bytes(0xff), jobId, at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => store.check(nonce, bytes(0xbb), at)).toThrow(/NONCE_UNKNOWN/);
    expect(() => createNonceStore().check(nonce, jobId, at)).toThrow(/NONCE_UNKNOWN/);
    for (let index = 0; index < 32; index++) {
      const changed = nonce.map((byte, place) => (place === index ? byte ^ 1 : byte));
      expect(() => store.check(changed, jobId, at), `byte ${index}`).toThrow(/NONCE_UNKNOWN/);
    }
  });

  it('expire, to the second', () => {
    const store = createNonceStore();
    const { nonce, expiresAt } = store.issue(jobId, at);
    expect(expiresAt).toBe(at + 120);
    store.check(nonce, jobId, expiresAt - 1);
    expect(() => store.check(nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('outlive a clock that was set back a little, and not one that was set back far', () => {
    const store = createNonceStore();
    const { nonce } = store.issue(jobId, at);
    expect(store.check(nonce, jobId, at - 5)).toBe(at - 5);
    expect(() => store.check(nonce, jobId, at - 3600)).toThrow(/NONCE_EXPIRED/);
  });

  it('stay spent for as long as they could be shown', () => {
    const store = createNonceStore();
    const { nonce } = store.issue(jobId, at);
    store.spend(nonce, keys, at - 5);
    const later = store.issue(jobId, at + 119);
    store.spend(later.nonce, keys, at + 119);
    expect(() => store.spend(nonce, keys, at + 119)).toThrow(/NONCE_SPENT/);
  });

  it('over which nothing was decided are open again, and for no longer than before', () => {
    const store = createNonceStore();
    const { nonce, expiresAt } = store.issue(jobId, at);
    store.spend(nonce, keys, at);
    store.reopen(nonce, keys);
    store.spend(nonce, keys, at + 5);
    store.reopen(nonce, keys);
    expect(() => store.check(nonce, jobId, expiresAt)).toThrow(/NONCE_EXPIRED/);
  });

  it('W-H1 are issued without end: nobody can use up those of a job, and none is kept', () => {
    const store = createNonceStore();
    const first = store.issue(jobId, at);
    for (let index = 0; index < 10_000; index++) store.issue(jobId, at);
    const last = store.issue(jobId, at);
    for (const { nonce } of [first, last]) {
      store.check(nonce, jobId, at);
      store.spend(nonce, keys, at);
    }
  });
});
