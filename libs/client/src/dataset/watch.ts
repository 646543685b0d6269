import type { ProofUnit } from '#libs/proof';
import type { OwnJob } from '../job/same-dataset.js';

/** How long work tells where it is. */
export interface Progress {
  /** Of reading a source: look, read, measure, encode, shuffle; then commit and seal; at last upload. */
  readonly stage: string;
  readonly done: number;
  /** 0 where nobody knows. */
  readonly of: number;
  readonly unit: 'bytes' | 'rows';
}

export interface Watch {
  onProgress?(progress: Progress): void;
  /** What the proofs of a job will take, before anything is uploaded or paid. */
  onProofs?(unit: ProofUnit): void;
  /** Own jobs on the same data set that have not ended, before another one is posted. */
  onSameDataset?(jobs: readonly OwnJob[]): void;
  /** The control plane has the job; its escrow is opened next. */
  onPosted?(jobId: string): void;
  /** Ends the work between two shards; it goes on from there when it is asked for again. */
  readonly signal?: AbortSignal | undefined;
}
