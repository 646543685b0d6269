/** Commits to weights and records in scheme `fxt-zk/1` with the compiled kernels, on one thread. */
import type { Examples, Manifest, Weights } from '#libs/step';
import { dataColumns, paddedWeights, type Columns } from './columns.js';
import { commitColumns } from './commit.js';
import type { Commitment, Format } from './commitment.js';
import { KernelCommitter } from './kernel-committer.js';
import { createEngine } from './kernels/index.js';
import { shapeOf } from './layout/shape.js';
import { dataLayout, weightLayout, type TreeLayout } from './layout/tree-layout.js';
import { profileNamed } from './params.js';

interface Committer {
  /** @param seed 32 bytes; with the weights they open the commitment */
  weights(weights: Weights, seed: Uint8Array): Commitment;
  /** @param examples the records of one superblock, or of the whole set */
  data(examples: Examples, seed: Uint8Array): Commitment;
}

/** @throws Rejection STEP_EXTENSION; STEP_PLAN for an unknown profile or a manifest that cannot be committed to */
export function commitmentFormat(manifest: Manifest, profileName: string): Format {
  const profile = profileNamed(profileName);
  return { shape: shapeOf(manifest, profile), profile };
}

/** Whether one commitment holds a whole data set, or each that of a superblock (libs/zk/SPEC.md §20). */
export function isWholeSet({ shape }: Pick<Format, 'shape'>): boolean {
  return shape.segmentVars > 0;
}

/** Its memory is kept between calls. @throws ConfigurationError ZK_MEMORY_EXCEEDED, of the calls too */
export function createCommitter({ shape, profile }: Format): Committer {
  const backend = new KernelCommitter(createEngine({ rowLogMax: profile.m }));
  const commit = (layout: TreeLayout, columns: Columns, seed: Uint8Array): Commitment => {
    const mark = backend.mark();
    const { commitment } = commitColumns(backend, layout, profile, columns, seed);
    backend.release(mark);
    return commitment;
  };
  return {
    weights: (weights, seed) => commit(weightLayout(shape, profile), paddedWeights(shape, weights), seed),
    data: (examples, seed) => commit(dataLayout(shape, profile), dataColumns(shape, examples), seed),
  };
}
