/** Proves consecutive segments of a job, each starting from the commitment that the one before ended with. */
import {
  commitData,
  commitWeights,
  proveSegment,
  type Backend,
  type OpenableCommitment,
  type ProverPhase,
  type WeightSecret,
} from '#libs/zk';
import { encodeProofBundle, segmentOuterDigest, type ProofStatement, type SegmentData } from '#libs/proof';
import { dataDigestOf, weightsDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';
import { datasetRoot, merklePath, orderSize, superblockOfStep, type Examples, type Weights } from '#libs/step';
import { checkRange, superblockExamples } from './records.js';

export type Phase = 'commit data' | 'commit weights' | ProverPhase;

export interface RangeRequest {
  readonly plan: Plan;
  /** All records, in the data owner's order. */
  readonly examples: Examples;
  readonly from: number;
  readonly steps: number;
  readonly weights: Weights;
  readonly jobId: Uint8Array;
  /** 32 secret bytes each: the start commitment's, the prover's own, and one per superblock. */
  readonly weightSeed: Uint8Array;
  readonly secret: Uint8Array;
  dataSeed(superblock: number): Uint8Array;
}

export interface ProvedRange {
  readonly statement: ProofStatement;
  readonly bundle: Uint8Array;
  readonly after: WeightSecret;
}

/**
 * The data root of the result covers the superblocks that the segments read; the leaves of all others are zero. A job's
 * data set is committed to as a whole by `dataset.ts`.
 *
 * @param onPhase called when a phase of a segment begins
 * @throws Rejection SEGMENT_RANGE, SEGMENT_ALIGNMENT, ORDER_TOO_FEW_RECORDS; GuardViolation GUARD_VIOLATION;
 *   ConfigurationError ZK_MEMORY_EXCEEDED
 */
export function proveRange(
  backend: Backend,
  request: RangeRequest,
  onPhase: (phase: Phase, segment: number, segments: number) => void,
): ProvedRange {
  const { plan, examples, from, steps, jobId } = request;
  const { manifest } = plan.shape;
  const { first, segments } = checkRange(manifest, from, steps);
  onPhase('commit data', 0, segments);
  const data = commitSuperblocks(backend, request, first, segments);
  onPhase('commit weights', 0, segments);
  const start = commitWeights(backend, plan, request.weights, request.weightSeed);
  let before: WeightSecret = { weights: request.weights, seed: request.weightSeed, opened: start };
  const borders: Commitment[] = [start.commitment];
  const proofs: Uint8Array[] = [];
  for (let i = 0; i < segments; i++) {
    const index = first + i;
    const firstStep = index * manifest.superblock;
    const stepCount = Math.min(manifest.superblock, manifest.steps - firstStep);
    const superblock = superblockOfStep(manifest, firstStep, examples.count);
    const beforeDigest = weightsDigestOf(borders[i]!, plan);
    const proved = proveSegment(
      backend,
      plan,
      {
        statement: {
          ...{ manifest, profile: plan.profile.name, variant: plan.variant, index, recordCount: examples.count },
          datasetRoot: data.root,
          data: data.segments[i]!.data,
          dataPath: data.segments[i]!.path,
          before: borders[i]!,
          outerDigest: (after) =>
            segmentOuterDigest(
              { jobId, manifest, datasetRoot: data.root },
              { from: firstStep, count: stepCount },
              beforeDigest,
              after,
            ),
        },
        before,
        examples: superblockExamples(manifest, examples, firstStep),
        dataSeed: request.dataSeed(superblock),
        ...(data.opened.has(superblock) && { openedData: data.opened.get(superblock)! }),
        secret: request.secret,
      },
      { onPhase: (phase) => onPhase(phase, i, segments) },
    );
    proofs.push(proved.proof);
    borders.push(proved.statement.after);
    before = proved.after;
  }
  const statement: ProofStatement = {
    ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId, manifest },
    ...{ recordCount: examples.count, datasetRoot: data.root, firstStep: from, borders, segments: data.segments },
  };
  return { statement, bundle: encodeProofBundle(proofs), after: before };
}

interface CommittedData {
  readonly root: Uint8Array;
  readonly segments: readonly SegmentData[];
  /** Commitments kept ready to be opened, by superblock; a few, for they are large. */
  readonly opened: ReadonlyMap<number, OpenableCommitment>;
}

const keptMax = 4;

function commitSuperblocks(backend: Backend, request: RangeRequest, first: number, segments: number): CommittedData {
  const { plan, examples } = request;
  const { manifest } = plan.shape;
  const used = Array.from({ length: segments }, (_, i) =>
    superblockOfStep(manifest, (first + i) * manifest.superblock, examples.count),
  );
  const opened = new Map<number, OpenableCommitment>();
  const commitments = new Map<number, Commitment>();
  const { superblocks } = orderSize(manifest, examples.count);
  const digests: Uint8Array[] = Array.from({ length: superblocks }, () => new Uint8Array(32));
  used.forEach((superblock, i) => {
    if (commitments.has(superblock)) return;
    const firstStep = (first + i) * manifest.superblock;
    const records = superblockExamples(manifest, examples, firstStep);
    const made = commitData(backend, plan, records, request.dataSeed(superblock));
    if (opened.size < keptMax) opened.set(superblock, made);
    commitments.set(superblock, made.commitment);
    digests[superblock] = dataDigestOf(made.commitment, plan);
  });
  return {
    root: datasetRoot(digests),
    segments: used.map((superblock) => ({
      data: commitments.get(superblock)!,
      path: merklePath(digests, superblock),
    })),
    opened,
  };
}
