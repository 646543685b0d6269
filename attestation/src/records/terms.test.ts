import { describe, expect, it } from 'vitest';
import { toHex } from '../base/bytes.js';
import { keccak } from '../base/digest.js';
import { runKeysDigest, runKeysOf } from './eip712.js';
import { escrowIdentity } from './escrow.js';
import { decodeFormerTerms, encodeFormerTerms, type FormerTerms } from './former-terms.js';
import { decodeTerms, encodeTerms, escrowIdOf, parseTermsJson, termsJson, type Terms } from './terms.js';

const account = (byte: number): Uint8Array => new Uint8Array(20).fill(byte);
const digest = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const selector = (byte: number): Uint8Array => new Uint8Array(4).fill(byte);

const former: FormerTerms = {
  client: account(1),
  provider: account(2),
  keyBroker: account(3),
  token: account(4),
  specDigest: digest(5),
  initialWeights: digest(6),
  policy: digest(7),
  minTier: 1,
  teeSelector: selector(10),
  dutySelectors: [selector(11), selector(12)],
  price: 13n,
  stake: 14n,
  liveness: 15n,
  bond: 16n,
  bondFee: 17n,
  failShareBps: 19,
  holdbackBps: 20,
  segments: 21,
  samples: 22,
  mode: 23,
  seedCommitClient: digest(24),
  acceptBy: 25,
  windows: { start: 1, compute: 2, draw: 4, challenge: 5, prove: 6, provePer: 7, hold: 8, reveal: 9, ack: 10 },
};

const { minTier: _, ...kept } = former;
const terms: Terms = {
  ...kept,
  snpPolicy: digest(8),
  planDigest: digest(9),
  attestors: [account(0x21), account(0x22), account(0x23)],
  needed: 2,
  publishFee: 18n,
  unit: 1,
  unitSegments: 257,
  parts: 3,
  providers: digest(26),
  mode: 0x0123,
  windows: { ...former.windows, finality: 3, drawBlocks: 11 },
};

describe('terms', () => {
  it('come back from bytes and from JSON, with lists of any length', () => {
    for (const one of [terms, { ...terms, attestors: [], dutySelectors: [] }]) {
      expect(decodeTerms(encodeTerms(one))).toEqual(one);
      expect(parseTermsJson(JSON.parse(JSON.stringify(termsJson(one))))).toEqual(one);
    }
  });

  it('have both lists behind a head of 41 words, in the order of the members', () => {
    const words = toHex(encodeTerms(terms)).match(/.{64}/g)!;
    expect(words).toHaveLength(1 + 41 + 4 + 3);
    expect([words[10], words[13]].map((word) => parseInt(word!, 16))).toEqual([41 * 32, 45 * 32]);
    expect([words[42], words[46]].map((word) => parseInt(word!, 16))).toEqual([3, 2]);
    expect(words[28]).toMatch(/0123$/);
    expect(words.slice(31, 42).map((word) => parseInt(word, 16))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('have every byte in their identity', () => {
    const encoded = encodeTerms(terms);
    for (let at = 0; at < encoded.length; at++) {
      const changed = encoded.map((byte, index) => (index === at ? byte ^ 1 : byte));
      let again: Uint8Array | null = null;
      try {
        again = escrowIdOf(decodeTerms(changed));
      } catch {
        continue;
      }
      expect(toHex(again)).toBe(toHex(keccak(changed)));
    }
  });

  it.each<[string, Partial<Record<keyof Terms, unknown>>]>([
    ['seventeen attestors', { attestors: Array.from({ length: 17 }, (_, i) => account(i + 1)) }],
    ['an attestor of 19 bytes', { attestors: [new Uint8Array(19)] }],
    ['nine selectors', { dutySelectors: Array.from({ length: 9 }, () => selector(1)) }],
    ['a mode of 17 bits', { mode: 65_536 }],
    ['a fee below nothing', { publishFee: -1n }],
    ['no windows', { windows: undefined }],
  ])('with %s are refused: TERMS_FIELD', (_what, change) => {
    expect(() => encodeTerms({ ...terms, ...change } as Terms)).toThrow(/TERMS_FIELD/);
  });

  it('of the former layout are refused by name, and read by those who ask for them', () => {
    const encoded = encodeFormerTerms(former);
    expect(() => decodeTerms(encoded)).toThrow(/TERMS_VERSION/);
    const { snpPolicy: _s, ...json } = termsJson(terms);
    expect(() => parseTermsJson({ ...json, minTier: 1 })).toThrow(/TERMS_VERSION/);
    expect(decodeFormerTerms(encoded)).toEqual(former);
    expect(() => decodeFormerTerms(encodeTerms(terms))).toThrow(/TERMS_ENCODING/);
    const contract = { chainId: 1, verifyingContract: account(9) };
    const [now, then] = [escrowIdentity(terms, contract), escrowIdentity(former, contract)];
    expect(toHex(then.job)).toBe(toHex(keccak(encoded)));
    expect(toHex(now.domain)).not.toBe(toHex(then.domain));
  });

  it('that are cut within a list are refused', () => {
    const encoded = encodeTerms(terms);
    for (let cut = 32; cut < encoded.length; cut += 32) {
      expect(() => decodeTerms(encoded.subarray(0, encoded.length - cut))).toThrow(/TERMS_(ENCODING|VERSION|FIELD)/);
    }
  });
});

describe('keys of a run', () => {
  it('are the same in any order, and each counts once', () => {
    const [a, b, c] = [account(1), account(2), account(3)];
    expect(runKeysOf([c, a, b, a])).toEqual([a, b, c]);
    expect(runKeysDigest([c, a, b, a])).toEqual(runKeysDigest([a, b, c]));
    expect(runKeysDigest([a, b])).not.toEqual(runKeysDigest([a, b, c]));
  });
});
