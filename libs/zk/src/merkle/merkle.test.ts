import { describe, expect, it } from 'vitest';
import { concatBytes, toHex } from '#attestation/base';
import { be64 } from '../commit/field/bytes.js';
import { LEAF_HEADER, hashLeaves, hashNodes } from '../commit/hash.js';
import { rootOf } from './multiproof.js';

const leafCount = 16;
const words = (...values: bigint[]): Uint8Array => concatBytes(...values.map(be64));
const leaves = hashLeaves(
  LEAF_HEADER.S,
  Array.from({ length: leafCount }, (_, i) => words(BigInt(i))),
);

const nodeOf = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  hashNodes(concatBytes(left, right, new Uint8Array(1)), 1);

function levelsOf(digestBytes: number): Uint8Array[][] {
  const levels = [leaves];
  while (levels.at(-1)!.length > 1) {
    const below = levels.at(-1)!.map((digest) => digest.subarray(0, digestBytes));
    levels.push(Array.from({ length: below.length / 2 }, (_, i) => nodeOf(below[2 * i]!, below[2 * i + 1]!)));
  }
  return levels;
}

describe('merkle (libs/zk/SPEC.md §2.1, §10)', () => {
  it('hashes the published leaf', () => {
    expect(toHex(hashLeaves(0x5301, [words(1n, 2n, 3n)])[0]!)).toBe(
      '4ee7b382d5b4a75b702d6f152f479dc362b7e9c5c4c2dd2de4c888581b9995ee',
    );
    const level = { L1: 0x4c01, L2: 0x4c01, L3: 0x4c01 };
    expect(LEAF_HEADER).toEqual({ W0: 0x5701, WT: 0x5701, S: 0x5301, D: 0x4401, ...level });
  });

  it('never gives a leaf and a node the same input', () => {
    const [aux] = hashLeaves(1, [words()]);
    const [leaf] = hashLeaves(LEAF_HEADER.W0, [words(1n, 2n, 3n)], [aux!]);
    const node = nodeOf(words(BigInt(LEAF_HEADER.W0), 1n, 2n, 3n), aux!);
    expect(toHex(node)).not.toBe(toHex(leaf!));
  });

  it.each([32, 26])('reaches the root from any set of leaves, %i-byte digests', (digestBytes) => {
    const levels = levelsOf(digestBytes);
    const sets = [[0], [15], [0, 1], [1, 2], [3, 4, 5, 11], Array.from({ length: leafCount }, (_, i) => i)];
    for (const set of sets) {
      let used = 0;
      const root = rootOf(new Map(set.map((i) => [i, leaves[i]!])), 4, digestBytes, (level, index) => {
        used += 1;
        return levels[level]![index]!.subarray(0, digestBytes);
      });
      expect(toHex(root)).toBe(toHex(levels[4]![0]!));
      if (set.length === leafCount) expect(used).toBe(0);
      if (set.length === 1) expect(used).toBe(4);
    }
  });

  it('reaches another root when a leaf changes', () => {
    const levels = levelsOf(32);
    const root = rootOf(new Map([[3, leaves[4]!]]), 4, 32, (level, index) => levels[level]![index]!);
    expect(toHex(root)).not.toBe(toHex(levels[4]![0]!));
  });
});
