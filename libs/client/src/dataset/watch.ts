import type { ProofUnit } from '#libs/proof';

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
  /** Ends the work between two shards; it goes on from there when it is asked for again. */
  readonly signal?: AbortSignal | undefined;
}
