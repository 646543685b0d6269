/** Proves one segment of a job: what every segment shares, and where one starts. */
import {
  proveSegment,
  type Backend,
  type OpenableCommitment,
  type ProverPhase,
  type SegmentProof,
  type WeightSecret,
} from '#libs/zk';
import { segmentOuterDigest, type ProofEscrow } from '#libs/proof';
import { weightsDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';
import { merklePath, type Examples } from '#libs/step';
import { committedRecords } from './records.js';

export interface ProvenJob {
  readonly plan: Plan;
  readonly jobId: Uint8Array;
  /** Escrow whose contract is to verify the proofs. */
  readonly escrow?: ProofEscrow | undefined;
  /** All records, in the data owner's order. */
  readonly examples: Examples;
  readonly datasetRoot: Uint8Array;
  /** Of the data set's commitments: of every superblock, or of the whole set. */
  readonly digests: readonly Uint8Array[];
  /** The commitment that holds what a segment reads, by its number. */
  dataCommitment(part: number): Commitment;
  /** 32 secret bytes of each. */
  dataSeed(part: number): Uint8Array;
  /** A commitment that is still ready to be opened. */
  openedData?(part: number): OpenableCommitment | undefined;
  /** 32 secret bytes of the prover. */
  readonly secret: Uint8Array;
  /** Separate variant: seed of the commitment to the weights after. */
  readonly afterSeed?: Uint8Array;
}

export interface SegmentStart {
  readonly weights: WeightSecret;
  readonly commitment: Commitment;
}

/** @throws GuardViolation GUARD_VIOLATION; ConfigurationError ZK_MEMORY_EXCEEDED; Rejection STEP_STATEMENT */
export function proveOne(
  backend: Backend,
  job: ProvenJob,
  index: number,
  start: SegmentStart,
  onPhase: (phase: ProverPhase) => void,
): SegmentProof {
  const { plan, jobId, escrow, examples, datasetRoot } = job;
  const { manifest, steps: length } = plan.shape;
  const firstStep = index * length;
  const { part, records } = committedRecords(plan, examples, firstStep);
  const steps = { index, from: firstStep, count: Math.min(length, manifest.steps - firstStep) };
  const before = weightsDigestOf(start.commitment, plan);
  const openedData = job.openedData?.(part);
  return proveSegment(
    backend,
    plan,
    {
      statement: {
        ...{ manifest, profile: plan.profile.name, variant: plan.variant, index, recordCount: examples.count },
        datasetRoot,
        data: job.dataCommitment(part),
        dataPath: merklePath(job.digests, part),
        before: start.commitment,
        outerDigest: (after) => segmentOuterDigest({ jobId, manifest, datasetRoot, escrow }, steps, before, after),
      },
      before: start.weights,
      examples: records,
      dataSeed: job.dataSeed(part),
      ...(openedData && { openedData }),
      secret: job.secret,
      ...(job.afterSeed && { afterSeed: job.afterSeed }),
    },
    { onPhase },
  );
}
