/** The seeded word stream of fixed-point §9: all randomness of a job. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, fromHex, utf8 } from '#attestation';

/**
 * word(dom, i) = big-endian uint64 at bytes 8·(i mod 4) of keccak256(keccak256(dom) ‖ seed ‖ u64be(floor(i/4))).
 *
 * @param seed 32 bytes, or 0x-hexadecimal of them
 */
export function wordStream(dom: string, seed: Uint8Array | string): (i: number) => bigint {
  const input = concatBytes(keccak_256(utf8(dom)), typeof seed === 'string' ? fromHex(seed) : seed, new Uint8Array(8));
  const counter = new DataView(input.buffer, 64);
  let group = -1;
  let words = new DataView(new ArrayBuffer(32));
  return (i) => {
    if (i >> 2 !== group) {
      group = i >> 2;
      counter.setBigUint64(0, BigInt(group));
      words = new DataView(keccak_256(input).buffer);
    }
    return words.getBigUint64(8 * (i & 3));
  };
}

/** floor(u·n / 2^64): a uniform word scaled to 0..n − 1. */
export function below(u: bigint, n: bigint): bigint {
  return (u * n) >> 64n;
}
