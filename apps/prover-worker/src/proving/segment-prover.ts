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
import { merklePath, superblockOfStep, type Examples } from '#libs/step';
import { superblockExamples } from './records.js';

export interface ProvenJob {
  readonly plan: Plan;
  readonly jobId: Uint8Array;
  /** Escrow whose contract is to verify the proofs. */
  readonly escrow?: ProofEscrow | undefined;
  /** All records, in the data owner's order. */
  readonly examples: Examples;
  readonly datasetRoot: Uint8Array;
  /** Data digests by superblock. */
  readonly digests: readonly Uint8Array[];
  /** Commitment of a superblock that a segment reads. */
  dataCommitment(superblock: number): Commitment;
  /** 32 secret bytes per superblock. */
  dataSeed(superblock: number): Uint8Array;
  /** A commitment that is still ready to be opened. */
  openedData?(superblock: number): OpenableCommitment | undefined;
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
  const { manifest } = plan.shape;
  const firstStep = index * manifest.superblock;
  const superblock = superblockOfStep(manifest, firstStep, examples.count);
  const steps = { from: firstStep, count: Math.min(manifest.superblock, manifest.steps - firstStep) };
  const before = weightsDigestOf(start.commitment, plan);
  const openedData = job.openedData?.(superblock);
  return proveSegment(
    backend,
    plan,
    {
      statement: {
        ...{ manifest, profile: plan.profile.name, variant: plan.variant, index, recordCount: examples.count },
        datasetRoot,
        data: job.dataCommitment(superblock),
        dataPath: merklePath(job.digests, superblock),
        before: start.commitment,
        outerDigest: (after) => segmentOuterDigest({ jobId, manifest, datasetRoot, escrow }, steps, before, after),
      },
      before: start.weights,
      examples: superblockExamples(manifest, examples, firstStep),
      dataSeed: job.dataSeed(superblock),
      ...(openedData && { openedData }),
      secret: job.secret,
      ...(job.afterSeed && { afterSeed: job.afterSeed }),
    },
    { onPhase },
  );
}
