/** Proves consecutive segments, each starting from the commitment that the one before ended with. */
import { commitData, commitWeights, type Backend, type OpenableCommitment, type ProverPhase } from '#libs/zk';
import { encodeProofBundle, type ProofStatement } from '#libs/proof';
import { dataDigestOf, type Commitment, type Plan } from '#libs/zk/verifier';
import { datasetRoot, merklePath, orderSize, type Examples, type Weights } from '#libs/step';
import { checkRange, committedRecords } from './records.js';
import { proveOne, type SegmentStart } from './segment-prover.js';

type Phase = 'commit data' | 'commit weights' | ProverPhase;

interface RangeRequest {
  readonly plan: Plan;
  /** All records, in the data owner's order. */
  readonly examples: Examples;
  readonly from: number;
  readonly steps: number;
  readonly weights: Weights;
  readonly jobId: Uint8Array;
  /** 32 secret bytes each: the start commitment's, the prover's own, and one per commitment to data. */
  readonly weightSeed: Uint8Array;
  readonly secret: Uint8Array;
  dataSeed(part: number): Uint8Array;
}

export interface ProvedRange {
  readonly statement: ProofStatement;
  readonly bundle: Uint8Array;
  /** Weights after the last step. */
  readonly weights: Weights;
}

/**
 * The data root of the result covers the superblocks that the segments read; the leaves of all others are zero. A job's
 * data set is committed to as a whole by `prepare-job.ts`.
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
  const { first, segments } = checkRange(manifest, from, steps, plan.shape.steps);
  onPhase('commit data', 0, segments);
  const data = commitParts(backend, request, first, segments);
  onPhase('commit weights', 0, segments);
  const opened = commitWeights(backend, plan, request.weights, request.weightSeed);
  let start: SegmentStart = {
    weights: { weights: request.weights, seed: request.weightSeed, opened },
    commitment: opened.commitment,
  };
  const borders: Commitment[] = [start.commitment];
  const proofs: Uint8Array[] = [];
  const { secret, dataSeed } = request;
  const job = {
    ...{ plan, jobId, examples, datasetRoot: datasetRoot(data.digests), digests: data.digests, secret, dataSeed },
    dataCommitment: (part: number) => data.commitments.get(part)!,
    openedData: (part: number) => data.opened.get(part),
  };
  for (let i = 0; i < segments; i++) {
    const proved = proveOne(backend, job, first + i, start, (phase) => onPhase(phase, i, segments));
    proofs.push(proved.proof);
    borders.push(proved.statement.after);
    start = { weights: proved.after, commitment: proved.statement.after };
  }
  const statement: ProofStatement = {
    ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId, manifest },
    ...{ recordCount: examples.count, datasetRoot: job.datasetRoot, firstStep: from, borders },
    segments: data.used.map((part) => ({
      data: data.commitments.get(part)!,
      path: merklePath(data.digests, part),
    })),
  };
  return { statement, bundle: encodeProofBundle(proofs), weights: start.weights.weights };
}

interface CommittedData {
  /** Number of the commitment that every segment reads. */
  readonly used: readonly number[];
  readonly digests: readonly Uint8Array[];
  readonly commitments: ReadonlyMap<number, Commitment>;
  /** Commitments kept ready to be opened; a few, for they are large. */
  readonly opened: ReadonlyMap<number, OpenableCommitment>;
}

const keptMax = 4;

function commitParts(backend: Backend, request: RangeRequest, first: number, segments: number): CommittedData {
  const { plan, examples } = request;
  const { manifest, steps, segmentVars } = plan.shape;
  const opened = new Map<number, OpenableCommitment>();
  const commitments = new Map<number, Commitment>();
  const parts = segmentVars > 0 ? 1 : orderSize(manifest, examples.count).superblocks;
  const digests: Uint8Array[] = Array.from({ length: parts }, () => new Uint8Array(32));
  const used = Array.from({ length: segments }, (_, i) => {
    const { part, records } = committedRecords(plan, examples, (first + i) * steps);
    if (commitments.has(part)) return part;
    const made = commitData(backend, plan, records, request.dataSeed(part));
    if (opened.size < keptMax) opened.set(part, made);
    commitments.set(part, made.commitment);
    digests[part] = dataDigestOf(made.commitment, plan);
    return part;
  });
  return { used, digests, commitments, opened };
}
