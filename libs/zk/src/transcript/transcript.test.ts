import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { utf8 } from '#attestation/base';
import { SITE } from './sites.js';
import { Transcript, hasLeadingZeros } from './transcript.js';

describe('transcript (libs/zk/SPEC.md §5)', () => {
  it('gives the published challenges', () => {
    const transcript = new Transcript();
    transcript.absorb(utf8('abc'));
    expect(transcript.challenge('oodS')).toEqual({ c0: 0x3c2db7472f5388a1n, c1: 0xc12d37b73c25c4c3n });
    transcript.absorbExt({ c0: 7n, c1: 9n });
    expect(transcript.challenge('alpha')).toEqual({ c0: 0xac932bde0c5f6c2en, c1: 0x346b2d7bcc71ce31n });
  });

  it('has one tag per site', () => {
    const tags = Object.values(SITE);
    expect(new Set(tags).size).toBe(tags.length);
  });

  it('draws sorted indices without duplicates', () => {
    const transcript = new Transcript();
    const indices = transcript.indices('queries0', 40, 5);
    expect(indices.length).toBeLessThanOrEqual(32);
    for (let i = 1; i < indices.length; i++) expect(indices[i]!).toBeGreaterThan(indices[i - 1]!);
    expect(indices.every((index) => index >= 0 && index < 32)).toBe(true);
  });

  it('accepts a ground nonce and refuses another', () => {
    const search = (seed: Uint8Array, bits: number): Uint8Array => {
      for (let i = 0; ; i++) {
        const nonce = new Uint8Array(8);
        new DataView(nonce.buffer).setBigUint64(0, BigInt(i));
        if (hasLeadingZeros(keccak_256(new Uint8Array([...seed, ...nonce])), bits)) return nonce;
      }
    };
    expect(() => new Transcript().grind('keccak', 6, search)).not.toThrow();
    expect(() => new Transcript().grind('keccak', 16, () => new Uint8Array(8))).toThrow('STEP_POW');
  });
});
