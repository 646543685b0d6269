/** What the argument systems of a job's proofs differ in: what they commit to, how they train, and the proof itself. */
import type { JobSpec } from '#attestation/records';
import type { ProofEscrow } from '#libs/proof';
import type { SealingSecrets } from '#libs/sealing';
import type { Examples, Manifest, Weights } from '#libs/step';
import type { Backend, ProverPhase } from '#libs/zk';
import type { JobSecret } from '#libs/zk/commit';

export interface JobFacts {
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  readonly secret: JobSecret;
  /** What the key of checkpoints follows from. */
  readonly sealing: SealingSecrets;
  readonly escrow: ProofEscrow;
}

export interface Proved {
  /** Proof bundle of one proof. */
  readonly bundle: Uint8Array;
  /** Text of its statement document. */
  readonly document: string;
}

interface ProvedSegment extends Proved {
  /** weightsDigest of the weights after the segment. */
  readonly after: Uint8Array;
}

export interface ProofSystem {
  /** log2 of the rows that the kernels are made for. */
  readonly rowLogMax: number;
  /** Of the commitments to the data set, as its owner made them: of every superblock, or of the whole set. */
  readonly digests: readonly Uint8Array[];
  /** The records of the commitment that holds what a step reads, and its number. */
  committed(examples: Examples, step: number): { readonly part: number; readonly records: Examples };
  /** Whether the owner's commitment of this number is one to these records. */
  isCommitted(part: number, records: Examples): boolean;
  /**
   * The segments of the job from these weights on, one after the other.
   *
   * @throws GuardViolation GUARD_VIOLATION exactly where the segment has no witness
   */
  trainer(backend: Backend, examples: Examples, start: Weights): { segment(index: number): Weights };
  /** @throws GuardViolation GUARD_VIOLATION; ConfigurationError; Rejection */
  prove(
    backend: Backend,
    examples: Examples,
    index: number,
    weights: Weights,
    onPhase: (phase: ProverPhase) => void,
  ): Promise<ProvedSegment>;
}
