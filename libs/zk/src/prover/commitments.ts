/**
 * Commitments to weights and to superblocks of data: made by enclaves, data owners and provers alike
 * (libs/zk/SPEC.md §2.1).
 */
import type { Examples, Weights } from '#libs/step';
import { dataColumns, paddedWeights } from '../commit/columns.js';
import { commitColumns, detached, type OpenableCommitment } from '../commit/commit.js';
import type { Format } from '../commit/commitment.js';
import { dataLayout, weightLayout } from '../commit/layout/tree-layout.js';
import type { Backend } from './backend.js';

/**
 * @param seed 32 secret bytes; with the weights they open the commitment, for at most `openingBudget` proofs in all
 * @returns    the commitment, ready to be opened by proofs; kept outside the backend's memory
 */
export function commitWeights(
  backend: Backend,
  format: Format,
  weights: Weights,
  seed: Uint8Array,
): OpenableCommitment {
  const layout = weightLayout(format.shape, format.profile);
  return outside(backend, () =>
    commitColumns(backend, layout, format.profile, paddedWeights(format.shape, weights), seed),
  );
}

/**
 * @param examples the T·B records of one superblock
 * @returns        the commitment, ready to be opened by proofs; kept outside the backend's memory
 */
export function commitData(backend: Backend, format: Format, examples: Examples, seed: Uint8Array): OpenableCommitment {
  const layout = dataLayout(format.shape, format.profile);
  return outside(backend, () =>
    commitColumns(backend, layout, format.profile, dataColumns(format.shape, examples), seed),
  );
}

function outside(backend: Backend, commit: () => OpenableCommitment): OpenableCommitment {
  const mark = backend.mark();
  const opened = detached(commit());
  backend.release(mark);
  return opened;
}
