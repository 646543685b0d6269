/** Commitments to weights and to superblocks of data: made by enclaves, data owners and provers alike (SPEC §2.1). */
import type { Examples, Weights } from '#libs/step';
import type { Format } from '../verifier/statement.js';
import type { Commitment } from '../verifier/statement.js';
import { dataLayout, weightLayout } from '../relation/tree-layout.js';
import type { Backend } from './backend.js';
import { commitColumns } from './commit.js';
import { dataColumns, paddedWeights } from './execute.js';

/** @param seed 32 secret bytes; with the weights they open the commitment, for at most `openingBudget` proofs in all */
export function commitWeights(backend: Backend, format: Format, weights: Weights, seed: Uint8Array): Commitment {
  const mark = backend.mark();
  const layout = weightLayout(format.shape, format.profile);
  const columns = paddedWeights(format.shape, weights);
  const { commitment } = commitColumns(backend, layout, format.profile, columns, seed);
  backend.release(mark);
  return commitment;
}

/** @param examples the T·B records of one superblock */
export function commitData(backend: Backend, format: Format, examples: Examples, seed: Uint8Array): Commitment {
  const mark = backend.mark();
  const layout = dataLayout(format.shape, format.profile);
  const { commitment } = commitColumns(backend, layout, format.profile, dataColumns(format.shape, examples), seed);
  backend.release(mark);
  return commitment;
}
