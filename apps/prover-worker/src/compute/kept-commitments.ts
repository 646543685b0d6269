/** Commitments that a job's later proofs open again, kept ready to be opened. */
import type { OpenableCommitment } from '#libs/zk';
import type { Weights } from '#libs/step';

interface Border {
  readonly index: number;
  readonly weights: Weights;
  readonly opened: OpenableCommitment;
}

interface KeptCommitments {
  /** The one kept for this superblock, or the one that `make` gives. */
  data(superblock: number, make: () => OpenableCommitment): OpenableCommitment;
  /** The one kept for this border where it has these weights, or the one that `make` gives. */
  border(index: number, weights: Weights, make: () => OpenableCommitment): OpenableCommitment;
  keepBorder(border: Border): void;
}

/**
 * Superblocks are kept while they fit and none is put out for another: an epoch reads each of them once, so a job that
 * kept the latest would never meet one again. Of borders the latest is kept, which the next segment starts from.
 *
 * @param bytesMax of all superblocks together
 */
export function keepCommitments(bytesMax: number): KeptCommitments {
  const blocks = new Map<number, OpenableCommitment>();
  let bytes = 0;
  let latest: Border | undefined;
  return {
    data(superblock, make) {
      const kept = blocks.get(superblock);
      if (kept !== undefined) return kept;
      const made = make();
      const size = bytesOf(made);
      if (bytes + size <= bytesMax) {
        blocks.set(superblock, made);
        bytes += size;
      }
      return made;
    },
    border: (index, weights, make) =>
      latest?.index === index && sameWeights(latest.weights, weights) ? latest.opened : make(),
    keepBorder(border) {
      latest = border;
    },
  };
}

function bytesOf({ matrix, tree, endings }: OpenableCommitment): number {
  const hashes = tree.levels.reduce((sum, level) => sum + level.length, 0);
  const { random, codewords } = matrix;
  const given = typeof endings === 'object' && 'given' in endings ? endings.given.length : 0;
  return random.byteLength + (codewords?.byteLength ?? 0) + hashes + given;
}

function sameWeights(a: Weights, b: Weights): boolean {
  return a.every(({ values }, k) => {
    const other = b[k]!.values;
    return values.length === other.length && values.every((value, i) => value === other[i]);
  });
}
