import { describe, expect, it, vi } from 'vitest';
import type { OpenableCommitment } from '#libs/zk';
import type { Weights } from '#libs/step';
import { keepCommitments } from './kept-commitments.js';

/** 64 bytes in all. */
function opened(): OpenableCommitment {
  const hash = new Uint8Array(32);
  return {
    matrix: { ...{ rows: 1, m: 1, logBlowup: 1 }, random: new BigUint64Array(1), codewords: new BigUint64Array(3) },
    tree: { from: 0, levels: [hash], root: hash },
    commitment: { root: hash, ood: hash },
  };
}

const size = 8 + 24 + 32;
const weights = (last: bigint): Weights => [{ name: 'W1', dims: [2], values: BigInt64Array.of(1n, last) }];

describe('commitments kept for later proofs', () => {
  it('are made once for each superblock, as long as they fit', () => {
    const kept = keepCommitments(2 * size);
    const make = vi.fn(opened);
    const first = kept.data(0, make);
    kept.data(1, make);
    expect(kept.data(0, make)).toBe(first);
    expect(make).toHaveBeenCalledTimes(2);
  });

  it('put out none for another: the first that came stay', () => {
    const kept = keepCommitments(size);
    const make = vi.fn(opened);
    const first = kept.data(0, make);
    kept.data(1, make);
    kept.data(1, make);
    expect(kept.data(0, make)).toBe(first);
    expect(make).toHaveBeenCalledTimes(3);
  });

  it.each([
    ['other weights', 1, weights(3n)],
    ['another border', 2, weights(2n)],
  ])('are never handed out for %s', (_name, index, asked) => {
    const kept = keepCommitments(0);
    const [left, made] = [opened(), opened()];
    kept.keepBorder({ index: 1, weights: weights(2n), opened: left });
    expect(kept.border(1, weights(2n), () => made)).toBe(left);
    expect(kept.border(index, asked, () => made)).toBe(made);
  });
});
