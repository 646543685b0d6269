/** RFC 6962 by its own recursion, and what a forger makes of its proofs. */
import { fromHex, uintBe } from '#attestation/base';
import { checkConsistency, checkInclusion, leafHash, nodeHash, splitOf } from '#attestation/log';

type Hash = Uint8Array;

type RootOf = (from: number, to: number) => Hash;

/** Roots of ranges of leaves, each computed once: trees of many sizes share most of them. */
function rootsOf(leaves: readonly Hash[]): RootOf {
  const known = new Map<number, Hash>();
  const rootOf: RootOf = (from, to) => {
    if (to - from === 1) return leaves[from]!;
    const key = from * (leaves.length + 1) + to;
    const split = from + splitOf(to - from);
    const root = known.get(key) ?? nodeHash(rootOf(from, split), rootOf(split, to));
    known.set(key, root);
    return root;
  };
  return rootOf;
}

/** PATH of RFC 6962 §2.1.1, from the leaf up. */
function inclusionPathOf(rootOf: RootOf, index: number, from: number, to: number): Hash[] {
  if (to - from === 1) return [];
  const split = from + splitOf(to - from);
  return index < split
    ? [...inclusionPathOf(rootOf, index, from, split), rootOf(split, to)]
    : [...inclusionPathOf(rootOf, index, split, to), rootOf(from, split)];
}

/** PROOF of RFC 6962 §2.1.2 between the first `size` leaves, at least one, and all of them. */
export function consistencyPathOf(leaves: readonly Hash[], size: number): Hash[] {
  return consistencyPath(rootsOf(leaves), size, 0, leaves.length);
}

/** PATH of RFC 6962 §2.1.1 of the leaf at `index` among all of them. */
export function pathOf(leaves: readonly Hash[], index: number): Hash[] {
  return inclusionPathOf(rootsOf(leaves), index, 0, leaves.length);
}

function consistencyPath(rootOf: RootOf, size: number, from: number, to: number): Hash[] {
  if (size === to) return from === 0 ? [] : [rootOf(from, to)];
  const split = from + splitOf(to - from);
  return size <= split
    ? [...consistencyPath(rootOf, size, from, split), rootOf(split, to)]
    : [...consistencyPath(rootOf, size, split, to), rootOf(from, split)];
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
  const rootOf = rootsOf(leaves);
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
    const tree = { size, root: rootOf(0, size) };
    for (let index = 0; index < size; index++) {
      const [leaf, path] = [leaves[index]!, inclusionPathOf(rootOf, index, 0, size)];
      checkInclusion(leaf, index, tree, path);
      const earlier = { size: index + 1, root: rootOf(0, index + 1) };
      const between = consistencyPath(rootOf, index + 1, 0, size);
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
