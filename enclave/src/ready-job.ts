/** A job that is ready to be trained: spec, data, key and the broker's release have all been checked. */
import type { JobSpec, ReleasedSession, SealedDataset, Terms } from '#attestation/records';
import type { Examples, JobManifest, NetExamples, Weights } from '#libs/step';
import type { JobCommitments } from '#libs/zk/commit';
import type { JobLease } from './lease.js';

/** Where a job starts: drawing the weights takes longer than many steps. */
export interface Genesis {
  readonly weights: Weights;
  /** Parameters of a net that are not trained. */
  readonly frozen: Weights;
  /** weightsDigest, which the terms name. */
  readonly border: Uint8Array;
}

/** A job whose spec, data and key have all been checked. */
export interface ReadyJob {
  readonly jobId: Uint8Array;
  readonly escrowId: Uint8Array;
  readonly spec: JobSpec;
  readonly manifest: JobManifest;
  readonly dataset: SealedDataset;
  readonly examples: Examples | NetExamples;
  /** Null where the job does not evaluate. */
  readonly validation: NetExamples | null;
  readonly dataKey: Uint8Array;
  readonly hostSecret: Uint8Array;
  readonly terms: Terms;
  /** This session as the key broker released it. */
  readonly own: ReleasedSession;
  /** Digests of receipts that have been found good. */
  readonly verified: Set<string>;
  readonly commitments: JobCommitments;
  readonly genesis: Genesis;
  readonly lease: JobLease;
  /**
   * The payment reveals the key of the result (contracts/SPEC.md §12); else the result opens for the client at once.
   */
  readonly isRevealed: boolean;
}
