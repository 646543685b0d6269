/** Fiat–Shamir transcript over keccak-256 (libs/zk/SPEC.md §5). */
import { Rejection, utf8 } from '#attestation/base';
import { extFromDigest } from '../commit/field/bytes.js';
import type { Ext } from '../commit/field/extension.js';
import { hashNonce, type HashName } from '../commit/hash.js';
import { keccak } from '../commit/keccak.js';
import { SITE, type Site } from './sites.js';

export class Transcript {
  /** The state, and behind it everything absorbed since. */
  #pending = new DataView(new ArrayBuffer(4096));
  #length = 0;

  /** @param scheme absorbed first, hashed: proofs of one kind of statement are none of another */
  constructor(scheme: 'fxt-zk/1' | 'fxt-zk/accuracy/1' = 'fxt-zk/1') {
    this.absorb(keccak(utf8(scheme)));
  }

  absorb(bytes: Uint8Array): void {
    this.#bytes(bytes.length).set(bytes, this.#length);
    this.#length += bytes.length;
  }

  absorbExt({ c0, c1 }: Ext): void {
    this.#bytes(16);
    this.#pending.setBigUint64(this.#length, c0);
    this.#pending.setBigUint64(this.#length + 8, c1);
    this.#length += 16;
  }

  /** The 32-byte state after everything absorbed so far and the tag of the site. */
  digest(site: Site): Uint8Array {
    this.absorb(Uint8Array.of(SITE[site]));
    const state = keccak(this.#bytes(0).subarray(0, this.#length));
    this.#length = 0;
    this.absorb(state);
    return state;
  }

  challenge(site: Site): Ext {
    return extFromDigest(this.digest(site));
  }

  /**
   * Grinding: `nonceFor` gives 8 bytes whose hash with the current state has `bits` leading zero bits; none is asked
   * for when `bits` is 0.
   * @throws Rejection STEP_POW
   */
  grind(hash: HashName, bits: number, nonceFor: (seed: Uint8Array, bits: number) => Uint8Array): void {
    if (bits === 0) return;
    const seed = this.digest('pow');
    const nonce = nonceFor(seed, bits);
    if (!hasLeadingZeros(hashNonce(hash, seed, nonce), bits)) {
      throw new Rejection('STEP_POW', {
        expected: `a nonce with ${bits} leading zero bits`,
        got: 'a hash without them',
        rule: 'libs/zk/SPEC.md §5',
      });
    }
    this.absorb(nonce);
  }

  /** `count` draws with replacement from [0, 2^bits), sorted, duplicates removed; bits ≤ 32. */
  indices(site: Site, count: number, bits: number): number[] {
    const drawn = new Set<number>();
    for (let i = 0, digest = new Uint8Array(0); i < count; i++) {
      if (i % 8 === 0) digest = this.digest(site) as Uint8Array<ArrayBuffer>;
      const word = new DataView(digest.buffer, digest.byteOffset).getUint32(4 * (i % 8));
      drawn.add(word % 2 ** bits);
    }
    return [...drawn].sort((a, b) => a - b);
  }

  /** What is pending, with room for `more` bytes. */
  #bytes(more: number): Uint8Array {
    const bytes = new Uint8Array(this.#pending.buffer);
    if (this.#length + more <= bytes.length) return bytes;
    const larger = new Uint8Array(2 * (this.#length + more));
    larger.set(bytes);
    this.#pending = new DataView(larger.buffer);
    return larger;
  }
}

/** The top `bits` bits of `digest` are zero; bits ≤ 32. */
export function hasLeadingZeros(digest: Uint8Array, bits: number): boolean {
  const word = new DataView(digest.buffer, digest.byteOffset).getUint32(0);
  return word < 2 ** (32 - bits);
}
