/** One segment between two borders that somebody has computed: proved again from its first weights. */
import { equalBytes, parseStepStatement, Rejection, toHex } from '#attestation';
import { encodeProofBundle, proofStatementText, type ProofStatement } from '#libs/proof';
import { merklePath, superblockOfStep } from '#libs/step';
import { borderSeed, createCommitter, dataSeed, proverSecret, weightsDigestOf } from '#libs/zk/commitment';
import type { Backend, ProverPhase } from '#libs/zk';
import { proveOne, type ProvenJob } from '../proving/segment-prover.js';
import type { ComputedJob } from './job.js';
import { startOf } from './train.js';

export interface ProofRequest {
  readonly index: number;
  /** StepStatement that is to be shown. */
  readonly statement: Uint8Array;
  /** Sealed checkpoint that the segment starts from; null: the start weights. */
  readonly checkpoint: Uint8Array | null;
}

export interface Proved {
  /** Proof bundle of one proof. */
  readonly bundle: Uint8Array;
  /** Text of its statement document. */
  readonly document: string;
}

/**
 * The same job, segment and key give the same bytes, whoever proves and however often.
 *
 * @throws Rejection WITNESS_FOREIGN when the weights handed over are not those that the statement speaks of, or do not
 *   lead to those; CHECKPOINT_*, STEP_*; GuardViolation GUARD_VIOLATION; ConfigurationError ZK_MEMORY_EXCEEDED
 */
export async function prove(
  backend: Backend,
  job: ComputedJob,
  { index, statement, checkpoint }: ProofRequest,
  onPhase: (phase: ProverPhase) => void,
): Promise<Proved> {
  const { manifest, plan, secret, spec, examples, data, digests, escrow } = job;
  const claimed = parseStepStatement(statement);
  const { weights, borders } = await startOf(job, checkpoint);
  same('the weights before', claimed.weightsBefore, borders[index] ?? new Uint8Array(32));
  if (borders.length !== index + 1) throw foreign(`a checkpoint of ${index} segments`, `${borders.length - 1}`);
  const seed = borderSeed(manifest, secret, index);
  const before = createCommitter(plan).weights(weights, seed);
  const proven: ProvenJob = {
    ...{ plan, jobId: secret.jobId, escrow, examples, datasetRoot: spec.dataset.root, digests },
    dataCommitment: (superblock) => data[superblock]!,
    dataSeed: (superblock) => dataSeed(secret.dataKey, superblock),
    afterSeed: borderSeed(manifest, secret, index + 1),
    secret: proverSecret(secret),
  };
  const start = { weights: { weights, seed }, commitment: before };
  const { proof, statement: shown } = proveOne(backend, proven, index, start, onPhase);
  same('the weights after', claimed.weightsAfter, weightsDigestOf(shown.after, plan));
  const firstStep = index * manifest.superblock;
  const superblock = superblockOfStep(manifest, firstStep, examples.count);
  const document: ProofStatement = {
    ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId: secret.jobId, manifest },
    ...{ recordCount: examples.count, datasetRoot: spec.dataset.root, firstStep, escrow },
    borders: [before, shown.after],
    segments: [{ data: data[superblock]!, path: merklePath(digests, superblock) }],
  };
  return { bundle: encodeProofBundle([proof]), document: proofStatementText(document) };
}

function same(what: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw foreign(`${what} ${toHex(expected)}`, toHex(got));
}

function foreign(expected: string, got: string): Rejection {
  return new Rejection('WITNESS_FOREIGN', {
    expected,
    got,
    rule: 'prover worker, proofs',
    action: 'whoever trained this segment handed over something else: train it again',
  });
}
