/** RFC 6962 by its own recursion, and what a forger makes of its proofs. */
import { fromHex, uintBe } from '#attestation/base';
import { checkConsistency, checkInclusion, leafHash, splitOf, treeRoot } from '#attestation/log';

type Hash = Uint8Array;

/** PATH of RFC 6962 §2.1.1, from the leaf up. */
function inclusionPathOf(leaves: readonly Hash[], index: number): Hash[] {
  if (leaves.length === 1) return [];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...inclusionPathOf(left, index), treeRoot(right)]
    : [...inclusionPathOf(right, index - split), treeRoot(left)];
}

/** PROOF of RFC 6962 §2.1.2 between the first `size` leaves, at least one, and all of them. */
export function consistencyPathOf(leaves: readonly Hash[], size: number, isWhole = true): Hash[] {
  if (size === leaves.length) return isWhole ? [] : [treeRoot(leaves)];
  const split = splitOf(leaves.length);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return size <= split
    ? [...consistencyPathOf(left, size, isWhole), treeRoot(right)]
    : [...consistencyPathOf(right, size - split, false), treeRoot(left)];
}

/** One bit changed, one hash more, fewer, or two in the other order. */
function forgeriesOf(path: readonly Hash[], seed: number): Hash[][] {
  const extra = [...path, leafHash(uintBe(seed, 4))];
  if (path.length === 0) return [extra];
  const at = seed % path.length;
  const bent = path.map((hash, index) => (index === at ? flipped(hash, seed) : hash));
  const swapped = [...path.slice(1), path[0]!];
  return [extra, bent, path.slice(1), path.slice(0, -1), ...(path.length > 1 ? [swapped] : [])];
}

function flipped(hash: Hash, seed: number): Hash {
  const out = Uint8Array.from(hash);
  out[seed % 32]! ^= 1 << (seed % 8);
  return out;
}

/**
 * Checks every inclusion and consistency proof of every tree from `least` to `most` leaves, and tries forgeries.
 * @param every  forgeries are made of one proof in so many
 * @returns how many proofs held, and how many forgeries were accepted and refused
 */
export function everyProof(least: number, most: number, every = 1) {
  const counts = { proofs: 0, accepted: 0, refused: 0 };
  const leaves = Array.from({ length: most }, (_, index) => leafHash(uintBe(index, 4)));
  const stranger = fromHex('5a'.repeat(32));
  const forge = (act: () => void): void => {
    try {
      act();
      counts.accepted++;
    } catch {
      counts.refused++;
    }
  };
  for (let size = least; size <= most; size++) {
    const tree = { size, root: treeRoot(leaves.slice(0, size)) };
    for (let index = 0; index < size; index++) {
      const [leaf, path] = [leaves[index]!, inclusionPathOf(leaves.slice(0, size), index)];
      checkInclusion(leaf, index, tree, path);
      const earlier = { size: index + 1, root: treeRoot(leaves.slice(0, index + 1)) };
      const between = consistencyPathOf(leaves.slice(0, size), index + 1);
      checkConsistency(earlier, tree, between);
      counts.proofs += 2;
      if (counts.proofs % (2 * every) !== 0) continue;
      for (const forged of forgeriesOf(path, counts.proofs)) forge(() => checkInclusion(leaf, index, tree, forged));
      forge(() => checkInclusion(flipped(leaf, index), index, tree, path));
      forge(() => checkInclusion(leaf, index, { size, root: stranger }, path));
      if (size > 1) forge(() => checkInclusion(leaf, (index + 1) % size, tree, path));
      for (const forged of forgeriesOf(between, counts.proofs)) forge(() => checkConsistency(earlier, tree, forged));
      forge(() => checkConsistency({ ...earlier, root: stranger }, tree, between));
      forge(() => checkConsistency(earlier, { size, root: stranger }, between));
    }
  }
  return counts;
}
