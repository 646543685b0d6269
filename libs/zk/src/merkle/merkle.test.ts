import { blake3 } from '@noble/hashes/blake3.js';
import { describe, expect, it } from 'vitest';
import { concatBytes, toHex } from '#attestation/base';
import { be64 } from '../commit/field/bytes.js';
import { blake3Keys, hashLeaves, hashNodes, leafHeader, type TreeHash, type TreeName } from '../commit/hash.js';
import { rootOf } from './multiproof.js';

const leafCount = 16;
const words = (...values: bigint[]): Uint8Array => concatBytes(...values.map(be64));
const symbols = Array.from({ length: leafCount }, (_, i) => words(BigInt(i)));

const nodeOf = (hash: TreeHash['hash'], left: Uint8Array, right: Uint8Array): Uint8Array =>
  hashNodes(hash, concatBytes(left, right, new Uint8Array(hash === 'keccak' ? 1 : 0)), 1);

function levelsOf({ hash, digestBytes }: TreeHash): Uint8Array[][] {
  const levels = [hashLeaves(hash, 'S', symbols)];
  while (levels.at(-1)!.length > 1) {
    const below = levels.at(-1)!.map((digest) => digest.subarray(0, digestBytes));
    levels.push(Array.from({ length: below.length / 2 }, (_, i) => nodeOf(hash, below[2 * i]!, below[2 * i + 1]!)));
  }
  return levels;
}

describe('merkle (libs/zk/SPEC.md §2.1, §10)', () => {
  it('hashes the published leaves', () => {
    expect(toHex(hashLeaves('keccak', 'S', [words(1n, 2n, 3n)])[0]!)).toBe(
      '4ee7b382d5b4a75b702d6f152f479dc362b7e9c5c4c2dd2de4c888581b9995ee',
    );
    const key = new TextEncoder().encode('fxt-zk/blake3/leaf'.padEnd(32, '\0'));
    expect(toHex(hashLeaves('blake3', 'S', [words(1n, 2n, 3n)])[0]!)).toBe(
      toHex(blake3(words(0x5302n, 1n, 2n, 3n), { key })),
    );
  });

  it('names tree and hash in the first word', () => {
    const names: TreeName[] = ['W0', 'WT', 'S', 'D', 'L1', 'L2', 'L3'];
    const of = (hash: TreeHash['hash']): number[] => names.map((tree) => leafHeader(tree, hash));
    expect(of('keccak')).toEqual([0x5701, 0x5701, 0x5301, 0x4401, 0x4c01, 0x4c01, 0x4c01]);
    expect(of('blake3')).toEqual([0x5702, 0x5702, 0x5302, 0x4402, 0x4c02, 0x4c02, 0x4c02]);
  });

  it.each(['keccak', 'blake3'] as const)('never gives a leaf and a node the same input, %s', (hash) => {
    const [aux] = hashLeaves(hash, 'S', [words()]);
    const [leaf] = hashLeaves(hash, 'W0', [words(1n, 2n, 3n)], [aux!]);
    const node = nodeOf(hash, words(BigInt(leafHeader('W0', hash)), 1n, 2n, 3n), aux!);
    expect(toHex(node)).not.toBe(toHex(leaf!));
  });

  it('has a key for each use of BLAKE3', () => {
    expect(new Set(Object.values(blake3Keys).map(toHex)).size).toBe(3);
  });

  it.each([
    { hash: 'keccak', digestBytes: 32 },
    { hash: 'keccak', digestBytes: 26 },
    { hash: 'blake3', digestBytes: 32 },
  ] as const)('reaches the root from any set of leaves, %o', (by) => {
    const levels = levelsOf(by);
    const sets = [[0], [15], [0, 1], [1, 2], [3, 4, 5, 11], Array.from({ length: leafCount }, (_, i) => i)];
    for (const set of sets) {
      let used = 0;
      const root = rootOf(new Map(set.map((i) => [i, levels[0]![i]!])), 4, by, (level, index) => {
        used += 1;
        return levels[level]![index]!.subarray(0, by.digestBytes);
      });
      expect(toHex(root)).toBe(toHex(levels[4]![0]!));
      if (set.length === leafCount) expect(used).toBe(0);
      if (set.length === 1) expect(used).toBe(4);
    }
  });

  it('reaches another root when a leaf changes, or under the other hash', () => {
    const by = { hash: 'keccak', digestBytes: 32 } as const;
    const levels = levelsOf(by);
    const reached = (leaf: Uint8Array, hash: TreeHash['hash']): string =>
      toHex(rootOf(new Map([[3, leaf]]), 4, { ...by, hash }, (level, index) => levels[level]![index]!));
    const root = toHex(levels[4]![0]!);
    expect(reached(levels[0]![3]!, 'keccak')).toBe(root);
    expect(reached(levels[0]![4]!, 'keccak')).not.toBe(root);
    expect(reached(levels[0]![3]!, 'blake3')).not.toBe(root);
  });
});
