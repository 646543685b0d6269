/** Binary keccak-256 Merkle tree over 32-byte digests: leaf 0x01 ‖ digest, node left ‖ right, zero words as padding. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, equalBytes } from '#attestation/base';
import { refuse } from './errors.js';

/** Holds one node of each height, whatever the number of leaves. @throws Rejection MERKLE_EMPTY, MERKLE_DIGEST */
export function merkleRoot(digests: readonly Uint8Array[]): Uint8Array {
  checkDigests(digests);
  const width = 2 ** Math.ceil(Math.log2(digests.length));
  const whole: Uint8Array[] = [];
  for (let index = 0; index < width; index++) {
    let node = index < digests.length ? leaf(digests[index]!) : new Uint8Array(32);
    for (let rest = index; rest & 1; rest >>= 1) node = parent(whole.pop()!, node);
    whole.push(node);
  }
  return whole[0]!;
}

/**
 * @returns siblings from leaf to root
 * @throws  Rejection MERKLE_EMPTY, MERKLE_DIGEST, MERKLE_INDEX
 */
export function merklePath(digests: readonly Uint8Array[], index: number): Uint8Array[] {
  const levels = merkleLevels(digests);
  if (!Number.isInteger(index) || index < 0 || index >= digests.length) {
    refuse('MERKLE_INDEX', `0..${digests.length - 1}`, index, rule);
  }
  return levels.slice(0, -1).map((level, height) => level[(index >> height) ^ 1]!);
}

/**
 * Checks that `digest` is leaf `index` of the tree with this root.
 *
 * @throws Rejection MERKLE_INDEX when the index does not fit the path, MERKLE_PATH when the path leads elsewhere
 */
export function checkMerklePath(
  root: Uint8Array,
  digest: Uint8Array,
  index: number,
  path: readonly Uint8Array[],
): void {
  if (path.length > 31 || !Number.isInteger(index) || index < 0 || index >= 2 ** path.length) {
    refuse('MERKLE_INDEX', 'an index that the path can hold', index, rule);
  }
  if ([digest, ...path].some((word) => word.length !== 32)) refuse('MERKLE_DIGEST', '32 bytes each', 'other', rule);
  let node = leaf(digest);
  path.forEach((sibling, height) => {
    node = (index >> height) & 1 ? parent(sibling, node) : parent(node, sibling);
  });
  if (!equalBytes(node, root)) refuse('MERKLE_PATH', 'the registered root', 'another root', rule);
}

function merkleLevels(digests: readonly Uint8Array[]): Uint8Array[][] {
  checkDigests(digests);
  let level = digests.map(leaf);
  while ((level.length & (level.length - 1)) !== 0) level.push(new Uint8Array(32));
  const levels = [level];
  while (level.length > 1) {
    const below = level;
    level = Array.from({ length: below.length / 2 }, (_, i) => parent(below[2 * i]!, below[2 * i + 1]!));
    levels.push(level);
  }
  return levels;
}

function checkDigests(digests: readonly Uint8Array[]): void {
  if (digests.length === 0) refuse('MERKLE_EMPTY', 'at least one digest', 0, rule);
  if (digests.some((digest) => digest.length !== 32)) refuse('MERKLE_DIGEST', '32 bytes each', 'other', rule);
}

function leaf(digest: Uint8Array): Uint8Array {
  return keccak_256(concatBytes(Uint8Array.of(1), digest));
}

function parent(left: Uint8Array, right: Uint8Array): Uint8Array {
  return keccak_256(concatBytes(left, right));
}

const rule = 'libs/step/SPEC.md §17.2';
