/** The Merkle tree of RFC 6962 §2.1 with SHA-256: hashes, inclusion and consistency. */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, toHex } from '../base/bytes.js';
import type { Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

const leafTag = Uint8Array.of(0);
const nodeTag = Uint8Array.of(1);

/** SHA-256(0x00 ‖ entry). */
export function leafHash(entry: Uint8Array): Digest {
  return sha256(concatBytes(leafTag, entry));
}

/** SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Digest, right: Digest): Digest {
  return sha256(concatBytes(nodeTag, left, right));
}

/** The greatest power of two below `size`, of 2 or more leaves. */
export function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** Merkle tree hash of leaf hashes; SHA-256 of nothing where there is none. */
export function treeRoot(leaves: readonly Digest[]): Digest {
  if (leaves.length === 0) return sha256(new Uint8Array(0));
  if (leaves.length === 1) return leaves[0]!;
  const split = splitOf(leaves.length);
  return nodeHash(treeRoot(leaves.slice(0, split)), treeRoot(leaves.slice(split)));
}

/**
 * The root that a leaf at `index` has in a tree of `size` leaves, by its path from the leaf up.
 * @throws Rejection LOG_INCLUSION where index, size and the number of hashes do not belong together
 * @source RFC 9162 §2.1.3.2
 */
export function inclusionRoot(leaf: Digest, index: number, size: number, path: readonly Digest[]): Digest {
  if (!isSize(size) || !isSize(index) || index >= size) {
    throw broken('LOG_INCLUSION', `an index below ${size}`, `${index}`);
  }
  checkHashes('LOG_INCLUSION', [leaf, ...path]);
  let [node, last, root] = [index, size - 1, leaf];
  for (const hash of path) {
    if (last === 0) throw broken('LOG_INCLUSION', `fewer hashes at ${index} of ${size}`, `${path.length}`);
    if (node % 2 === 1 || node === last) {
      root = nodeHash(hash, root);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      root = nodeHash(root, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  if (last !== 0) throw broken('LOG_INCLUSION', `more hashes at ${index} of ${size}`, `${path.length}`);
  return root;
}

/** @throws Rejection LOG_INCLUSION where the path does not lead to `root` */
export function checkInclusion(
  leaf: Digest,
  index: number,
  tree: { readonly size: number; readonly root: Digest },
  path: readonly Digest[],
): void {
  const found = inclusionRoot(leaf, index, tree.size, path);
  if (!equalBytes(found, tree.root)) throw broken('LOG_INCLUSION', `the root ${toHex(tree.root)}`, toHex(found));
}

interface TreeHead {
  readonly size: number;
  readonly root: Digest;
}

/**
 * That the later tree begins with all leaves of the earlier one. An earlier tree without leaves is refused, as in the
 * vectors of transparency-dev/merkle: nothing has to be shown of it.
 * @throws Rejection LOG_CONSISTENCY
 * @source RFC 9162 §2.1.4.2
 */
export function checkConsistency(earlier: TreeHead, later: TreeHead, path: readonly Digest[]): void {
  const { size } = earlier;
  const isOrdered = isSize(size) && isSize(later.size) && size > 0 && size <= later.size;
  if (!isOrdered) throw broken('LOG_CONSISTENCY', `1 to ${later.size} leaves`, `${size}`);
  checkHashes('LOG_CONSISTENCY', path);
  if (size === later.size) {
    if (path.length > 0) throw broken('LOG_CONSISTENCY', 'no hashes between equal sizes', `${path.length}`);
    return sameRoot(earlier.root, later.root);
  }
  let [node, last] = [size - 1, later.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  const [start, ...rest] = node === 0 ? [earlier.root, ...path] : path;
  if (start === undefined || path.length === 0) throw broken('LOG_CONSISTENCY', 'a path', 'no hashes');
  let [from, to] = [start, start];
  for (const hash of rest) {
    if (last === 0) throw broken('LOG_CONSISTENCY', `fewer hashes from ${size} to ${later.size}`, `${path.length}`);
    if (node % 2 === 1 || node === last) {
      [from, to] = [nodeHash(hash, from), nodeHash(hash, to)];
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, half(last)];
    } else {
      to = nodeHash(to, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  if (last !== 0) throw broken('LOG_CONSISTENCY', `more hashes from ${size} to ${later.size}`, `${path.length}`);
  sameRoot(earlier.root, from);
  sameRoot(later.root, to);
}

function checkHashes(code: string, hashes: readonly Digest[]): void {
  const other = hashes.find(({ length }) => length !== 32);
  if (other !== undefined) throw broken(code, 'hashes of 32 bytes', `${other.length}`);
}

function sameRoot(expected: Digest, got: Digest): void {
  if (!equalBytes(expected, got)) throw broken('LOG_CONSISTENCY', `the root ${toHex(expected)}`, toHex(got));
}

/** Sizes stay below 2^53, so halving is exact where a shift would drop bits. */
function half(value: number): number {
  return Math.floor(value / 2);
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function broken(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'RFC 9162 §2.1', action: 'do not rely on this log' });
}
