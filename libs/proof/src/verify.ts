/** Verifies a chain of step proofs against its statement document. */
import { Rejection } from '#attestation/base';
import { stepStatementDigest, type StepStatement } from '#attestation/records';
import { checkBounds } from '#libs/step';
import {
  verifyStart,
  verifyStepProof,
  weightsDigestOf,
  type Plan,
  type SoundnessTerm,
  type StepProofStatement,
} from '#libs/zk/verifier';
import { parseProofBundle } from './bundle.js';
import { refuse } from './refuse.js';
import { planOf, segmentOuterDigest, stepsOf, wholeStatement, type ProofStatement } from './statement.js';

declare const verified: unique symbol;

/** Made only by `verifyProofBundle`. */
export interface VerifiedProof {
  readonly [verified]: true;
  /** What the segments together show; assumptions A1 and A2 of libs/zk/SPEC.md §2.2 are the caller's. */
  readonly statement: StepStatement;
  readonly statementDigest: Uint8Array;
  /** −log2 of the error of the weakest round. */
  readonly soundnessBits: number;
  /** −log2 of the error of the whole chain, at most. */
  readonly soundnessSumBits: number;
  /** Of one segment's proof, round by round. */
  readonly soundnessRounds: readonly SoundnessTerm[];
  /** `seed`: it starts at step 0 from the weights of the manifest's seed (A1). `given`: the caller knows the first border. */
  readonly start: 'seed' | 'given';
}

/**
 * @throws Rejection PROOF_BUNDLE, PROOF_SELECTOR, PROOF_SEGMENTS, PROOF_ALIGNMENT, STEP_RANGE_*, and those of
 *   `verifyStepProof`
 */
export function verifyProofBundle(bundle: Uint8Array, statement: ProofStatement): VerifiedProof {
  const proofs = parseProofBundle(bundle);
  const { manifest, firstStep, segments } = statement;
  if (proofs.length !== segments.length) {
    refuse('PROOF_SEGMENTS', `${segments.length} proofs`, proofs.length, 'libs/proof/SPEC.md, statement');
  }
  checkBounds(manifest);
  const plan = planOf(statement);
  const { steps } = plan.shape;
  if (firstStep % steps !== 0) {
    refuse('PROOF_ALIGNMENT', `a multiple of ${steps}`, firstStep, 'libs/zk/SPEC.md §2.2');
  }
  const start = firstStep === 0 ? startOf(proofs[0]!, segmentStatement(statement, plan, 0)) : 'given';
  proofs.forEach((proof, index) => {
    if (index > 0 || start === 'given') verifyStepProof(proof, segmentStatement(statement, plan, index));
  });
  const whole = wholeStatement(statement, plan);
  return {
    statement: whole,
    statementDigest: stepStatementDigest(whole),
    soundnessBits: plan.soundness.minBits,
    soundnessSumBits: plan.soundness.sumBits - Math.log2(proofs.length),
    soundnessRounds: plan.soundness.terms,
    start,
  } as VerifiedProof;
}

/** Whether the first proof of a job starts where its seed says. */
function startOf(proof: Uint8Array, statement: StepProofStatement): VerifiedProof['start'] {
  try {
    verifyStart(proof, statement);
    return 'seed';
  } catch (error) {
    if (error instanceof Rejection && error.code === 'STEP_START') return 'given';
    throw error;
  }
}

/** What the proof of one segment states; `plan` is that of `planOf`. */
export function segmentStatement(statement: ProofStatement, plan: Plan, index: number): StepProofStatement {
  const { manifest, profile, variant, recordCount, datasetRoot, borders, segments } = statement;
  const [before, after] = [weightsDigestOf(borders[index]!, plan), weightsDigestOf(borders[index + 1]!, plan)];
  const proved = stepsOf(statement, index, plan.shape.steps);
  return {
    manifest,
    profile,
    variant,
    outerDigest: segmentOuterDigest(statement, proved, before, after),
    index: proved.index,
    recordCount,
    datasetRoot,
    data: segments[index]!.data,
    dataPath: segments[index]!.path,
    before: borders[index]!,
    after: borders[index + 1]!,
  };
}
