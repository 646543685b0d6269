/** One proof for many leaves of one tree (SPEC §10): siblings level by level from the leaves, left to right. */
import { keccak, type Keccak } from '../transcript/keccak.js';
import { hashNode } from './hash.js';

/**
 * @param leaves      full 32-byte leaf hashes by leaf index, at least one
 * @param depth       the tree has 2^depth leaves
 * @param digestBytes length that every digest below the root is cut to
 * @param sibling     the next sibling digest; called in proof order with its place in the tree
 * @returns           the 32-byte root that these leaves and siblings give
 */
export function rootOf(
  leaves: ReadonlyMap<number, Uint8Array>,
  depth: number,
  digestBytes: number,
  sibling: (level: number, index: number) => Uint8Array,
  hash: Keccak = keccak,
): Uint8Array {
  let known = [...leaves.entries()].sort((a, b) => a[0] - b[0]);
  for (let level = 0; level < depth; level++) {
    const parents: [number, Uint8Array][] = [];
    for (let k = 0; k < known.length; k++) {
      const [index, full] = known[k]!;
      const own = full.subarray(0, digestBytes);
      const isLeft = index % 2 === 0;
      const pairKnown = isLeft && known[k + 1]?.[0] === index + 1;
      const other = pairKnown
        ? known[++k]![1].subarray(0, digestBytes)
        : sibling(level, isLeft ? index + 1 : index - 1);
      parents.push([(index - (index % 2)) / 2, isLeft ? hashNode(own, other, hash) : hashNode(other, own, hash)]);
    }
    known = parents;
  }
  return known[0]![1];
}
