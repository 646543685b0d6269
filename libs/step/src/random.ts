/** The seeded word stream of libs/step/SPEC.md §9: all randomness of a job. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, fromHex, utf8 } from '#attestation/base';

/** keccak-256 of `count` messages of equal length, one behind the other, to 32 bytes each. */
export type HashMany = (messages: Uint8Array, count: number) => Uint8Array;

/** Hashes that are asked of a `HashMany` at once. */
const blockGroups = 256;

/**
 * word(dom, i) = big-endian uint64 at bytes 8·(i mod 4) of keccak256(keccak256(dom) ‖ seed ‖ u64be(floor(i/4))).
 *
 * @param seed     32 bytes, or 0x-hexadecimal of them
 * @param hashMany for whoever reads the words one after the other and has a faster hash
 */
export function wordStream(dom: string, seed: Uint8Array | string, hashMany?: HashMany): (i: number) => bigint {
  const prefix = concatBytes(keccak_256(utf8(dom)), typeof seed === 'string' ? fromHex(seed) : seed);
  const groups = hashMany === undefined ? 1 : blockGroups;
  const inputs = new Uint8Array(groups * (prefix.length + 8));
  const counters = new DataView(inputs.buffer);
  for (let k = 0; k < groups; k++) inputs.set(prefix, k * (prefix.length + 8));
  let block = -1;
  let words: DataView = new DataView(new ArrayBuffer(0));
  return (i) => {
    const wanted = Math.floor(i / (4 * groups));
    if (wanted !== block) {
      block = wanted;
      for (let k = 0; k < groups; k++) {
        counters.setBigUint64(k * (prefix.length + 8) + prefix.length, BigInt(block * groups + k));
      }
      words = new DataView((hashMany?.(inputs, groups) ?? keccak_256(inputs)).buffer);
    }
    return words.getBigUint64(8 * (i - 4 * groups * block));
  };
}

/** floor(u·n / 2^64): a uniform word scaled to 0..n − 1. */
export function below(u: bigint, n: bigint): bigint {
  return (u * n) >> 64n;
}
