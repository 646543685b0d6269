/** RFC 6962 trees: reference roots, every proof of every small tree, and what is not a proof. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex, uintBe } from '../base/bytes.js';
import { everyProof } from '#test/log-tree';
import { checkConsistency, checkInclusion, leafHash, treeRoot } from './tree.js';

/** The leaves and roots that Certificate Transparency's first implementation was tested with. */
const reference = [
  ['', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
  ['00', 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
  ['10', 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
  ['2021', 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
  ['3031', '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
  ['40414243', '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef'],
  ['5051525354555657', 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
  ['606162636465666768696a6b6c6d6e6f', '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
] as const;

describe('trees of RFC 6962', () => {
  it('have the reference roots', () => {
    const leaves = reference.map(([entry]) => leafHash(fromHex(entry)));
    expect(toHex(treeRoot([]))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    reference.forEach(([, root], index) => expect(toHex(treeRoot(leaves.slice(0, index + 1)))).toBe(root));
  });

  it('show every leaf and every earlier tree, and nothing else (up to 40 leaves)', () => {
    const counts = everyProof(1, 40, 3);
    expect(counts).toEqual({ proofs: 820 + 820, accepted: 0, refused: counts.refused });
    expect(counts.refused).toBeGreaterThan(3500);
  });

  it('refuse an earlier tree without leaves, and sizes that are none', () => {
    const [a, b] = [leafHash(uintBe(0, 1)), leafHash(uintBe(1, 1))];
    const two = { size: 2, root: treeRoot([a, b]) };
    expect(() => checkConsistency({ size: 0, root: treeRoot([]) }, two, [])).toThrow(/LOG_CONSISTENCY/);
    for (const size of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect(() => checkConsistency({ size, root: a }, two, [b])).toThrow(/LOG_CONSISTENCY/);
      expect(() => checkInclusion(a, size, two, [b])).toThrow(/LOG_INCLUSION/);
      expect(() => checkInclusion(a, 0, { ...two, size }, [b])).toThrow(/LOG_INCLUSION/);
    }
  });
});

interface Vector {
  readonly leafIdx: number;
  readonly treeSize: number;
  readonly root: string;
  readonly leafHash: string;
  readonly size1: number;
  readonly size2: number;
  readonly root1: string;
  readonly root2: string;
  readonly proof: readonly string[] | null;
  readonly wantErr: boolean;
}

/** `testdata` of transparency-dev/merkle (Apache-2.0), all of it. */
describe('vectors of transparency-dev/merkle', () => {
  const read = (kind: string): Vector[] => {
    const file = new URL(`../../../test/support/fixtures/merkle/${kind}.json`, import.meta.url);
    return (JSON.parse(readFileSync(file, 'utf8')) as { readonly vectors: Vector[] }).vectors;
  };
  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
  const isRefused = (act: () => void): boolean => {
    try {
      act();
      return false;
    } catch (error) {
      expect(String(error)).toMatch(/LOG_(INCLUSION|CONSISTENCY)/);
      return true;
    }
  };

  it('of inclusion', () => {
    const all = read('inclusion');
    expect(all).toHaveLength(98);
    for (const { leafIdx, treeSize: size, root, leafHash: leaf, proof, wantErr } of all) {
      const act = (): void =>
        checkInclusion(bytes(leaf), leafIdx, { size, root: bytes(root) }, (proof ?? []).map(bytes));
      expect(isRefused(act)).toBe(wantErr);
    }
  });

  it('of consistency', () => {
    const all = read('consistency');
    expect(all).toHaveLength(98);
    for (const { size1, size2, root1, root2, proof, wantErr } of all) {
      const [earlier, later] = [
        { size: size1, root: bytes(root1) },
        { size: size2, root: bytes(root2) },
      ];
      expect(isRefused(() => checkConsistency(earlier, later, (proof ?? []).map(bytes)))).toBe(wantErr);
    }
  });
});
