/** Reference of the hashing kernels over an independent keccak-256 (libs/zk/SPEC.md §2.1, §5). */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { P } from '../../field/goldilocks.js';

export function be64(value: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(56 - 8 * i)) & 0xffn));
}

/** Leaf of one column; aux is empty or 32 bytes. */
export function leaf(header: number, symbols: readonly bigint[], aux: Uint8Array): Uint8Array {
  return keccak_256(Uint8Array.from([...be64(BigInt(header)), ...symbols.flatMap(be64), ...aux]));
}

export function node(left: Uint8Array, right: Uint8Array, digestBytes: number): Uint8Array {
  return keccak_256(Uint8Array.from([...left.subarray(0, digestBytes), ...right.subarray(0, digestBytes), 1]));
}

/** Counter-mode stream of words below p. */
export function prf(prefix: Uint8Array, count: number): bigint[] {
  const words: bigint[] = [];
  for (let counter = 0n; words.length < count; counter++) {
    const digest = keccak_256(Uint8Array.from([...prefix, ...be64(counter)]));
    const view = new DataView(digest.buffer, digest.byteOffset);
    for (let i = 0; i < 4; i++) if (view.getBigUint64(8 * i) < P) words.push(view.getBigUint64(8 * i));
  }
  return words.slice(0, count);
}

/** Lowest nonce whose keccak256(seed ‖ be64(nonce)) starts with `bits` zero bits. */
export function grind(seed: Uint8Array, bits: number): number {
  for (let nonce = 0; ; nonce++) {
    const digest = keccak_256(Uint8Array.from([...seed, ...be64(BigInt(nonce))]));
    if (new DataView(digest.buffer, digest.byteOffset).getUint32(0) < 2 ** (32 - bits)) return nonce;
  }
}
