/**
 * Merkle tree of a run's borders (contracts/SPEC.md §3): leaf = keccak256(0x01 ‖ border), node = keccak256(left ‖
 * right), padded with zero words to a power of two. Leaves hash 33 bytes and nodes 64, so the two cannot be confused.
 */
import { concatBytes } from '../base/bytes.js';
import { exactBytes, keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

/** Border 0 and one for each of at most 4000 segments. */
export const bordersMax = 4001;

/** @throws Rejection BORDERS_LENGTH when there is no border or more than bordersMax */
export function bordersRoot(borders: readonly Digest[]): Digest {
  return levelsOf(borders).at(-1)![0]!;
}

/**
 * Siblings from the leaf upwards.
 * @throws Rejection BORDERS_LENGTH, BORDERS_INDEX
 */
export function borderPath(borders: readonly Digest[], index: number): readonly Digest[] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= borders.length) {
    throw new Rejection('BORDERS_INDEX', {
      expected: `a border from 0 to ${borders.length - 1}`,
      got: String(index),
      rule: 'contracts/SPEC.md §3',
    });
  }
  return levelsOf(borders)
    .slice(0, -1)
    .map((level, height) => level[(index >> height) ^ 1]!);
}

function levelsOf(borders: readonly Digest[]): Digest[][] {
  if (borders.length === 0 || borders.length > bordersMax) {
    throw new Rejection('BORDERS_LENGTH', {
      expected: `1 to ${bordersMax} borders`,
      got: String(borders.length),
      rule: 'contracts/SPEC.md §3',
    });
  }
  let level = borders.map((border) => keccak(concatBytes(new Uint8Array([1]), exactBytes('border', border))));
  while ((level.length & (level.length - 1)) !== 0) level.push(new Uint8Array(32));
  const levels = [level];
  while (level.length > 1) {
    level = Array.from({ length: level.length / 2 }, (_, i) => keccak(concatBytes(level[2 * i]!, level[2 * i + 1]!)));
    levels.push(level);
  }
  return levels;
}
