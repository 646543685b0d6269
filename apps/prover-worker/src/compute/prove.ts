/** One segment between two borders that somebody has computed: proved again from its first weights. */
import { equalBytes, Rejection, toHex } from '#attestation/base';
import { parseStepStatement } from '#attestation/records';
import type { Backend, ProverPhase } from '#libs/zk';
import type { ComputedJob } from './job.js';
import type { Proved } from './system.js';
import { startOf } from './train.js';

export interface ProofRequest {
  readonly index: number;
  /** StepStatement that is to be shown. */
  readonly statement: Uint8Array;
  /** Sealed checkpoint that the segment starts from; null: the start weights. */
  readonly checkpoint: Uint8Array | null;
}

/**
 * The same job, segment and key show the same statement, and by sumcheck give the same bytes, whoever proves and however
 * often.
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
  const claimed = parseStepStatement(statement);
  const { weights, borders } = await startOf(job, checkpoint);
  same('the weights before', claimed.weightsBefore, borders[index] ?? new Uint8Array(32));
  if (borders.length !== index + 1) throw foreign(`a checkpoint of ${index} segments`, `${borders.length - 1}`);
  const { after, bundle, document } = await job.system.prove(backend, job.examples, index, weights, onPhase);
  same('the weights after', claimed.weightsAfter, after);
  return { bundle, document };
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
