/**
 * One proof for many leaves of one tree (libs/zk/SPEC.md §10): siblings level by level from the leaves, left to right.
 */
import { concatBytes } from '#attestation/base';
import { hashNodes, nodeLength, type TreeHash } from '../commit/hash.js';

/**
 * @param leaves      full 32-byte leaf hashes by leaf index, at least one
 * @param depth       the tree has 2^depth leaves
 * @param by          with the length that every digest below the root is cut to
 * @param sibling     the next sibling digest; called in proof order with its place in the tree
 * @returns           the 32-byte root that these leaves and siblings give
 */
export function rootOf(
  leaves: ReadonlyMap<number, Uint8Array>,
  depth: number,
  by: TreeHash,
  sibling: (level: number, index: number) => Uint8Array,
): Uint8Array {
  const { digestBytes } = by;
  const length = nodeLength(by);
  const sorted = [...leaves.entries()].sort((a, b) => a[0] - b[0]);
  let indices = sorted.map(([index]) => index);
  let digests = concatBytes(...sorted.map(([, digest]) => digest));
  for (let level = 0; level < depth; level++) {
    const parents: number[] = [];
    const inputs = new Uint8Array(indices.length * length);
    for (let k = 0; k < indices.length; k++) {
      const index = indices[k]!;
      const left = parents.length * length;
      const [own, other] = index % 2 === 0 ? [left, left + digestBytes] : [left + digestBytes, left];
      copy(digests, 32 * k, digestBytes, inputs, own);
      if (own === left && indices[k + 1] === index + 1) copy(digests, 32 * ++k, digestBytes, inputs, other);
      else inputs.set(sibling(level, index % 2 === 0 ? index + 1 : index - 1).subarray(0, digestBytes), other);
      parents.push((index - (index % 2)) / 2);
    }
    indices = parents;
    digests = hashNodes(by.hash, inputs.subarray(0, parents.length * length), parents.length);
  }
  return digests;
}

function copy(source: Uint8Array, start: number, count: number, target: Uint8Array, at: number): void {
  for (let i = 0; i < count; i++) target[at + i] = source[start + i]!;
}
