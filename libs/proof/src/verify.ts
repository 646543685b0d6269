/** Verifies a chain of step proofs against its statement document. */
import { stepStatementDigest, type StepStatement } from '#attestation';
import { checkBounds } from '#libs/step';
import { verifyStepProof, weightsDigestOf, type Plan, type StepProofStatement } from '#libs/zk/verifier';
import { parseProofBundle } from './bundle.js';
import { refuse } from './refuse.js';
import { planOf, segmentOuterDigest, stepsOf, wholeStatement, type ProofStatement } from './statement.js';

declare const verified: unique symbol;

/** Made only by `verifyProofBundle`. */
export interface VerifiedProof {
  readonly [verified]: true;
  /** What the segments together show; assumptions A1 and A2 of step-proof §2.2 are the caller's. */
  readonly statement: StepStatement;
  readonly statementDigest: Uint8Array;
  /** −log2 of the error of the weakest round. */
  readonly soundnessBits: number;
  /** −log2 of the error of the whole chain, at most. */
  readonly soundnessSumBits: number;
}

/**
 * @throws Rejection PROOF_BUNDLE, PROOF_SELECTOR, PROOF_SEGMENTS, PROOF_ALIGNMENT, STEP_RANGE_*, and those of
 *   `verifyStepProof`
 */
export function verifyProofBundle(bundle: Uint8Array, statement: ProofStatement): VerifiedProof {
  const proofs = parseProofBundle(bundle);
  const { manifest, firstStep, segments } = statement;
  if (proofs.length !== segments.length) {
    refuse('PROOF_SEGMENTS', `${segments.length} proofs`, proofs.length, 'proof SPEC, statement');
  }
  if (firstStep % manifest.superblock !== 0) {
    refuse('PROOF_ALIGNMENT', `a multiple of ${manifest.superblock}`, firstStep, 'step-proof §2.2');
  }
  checkBounds(manifest);
  const plan = planOf(statement);
  proofs.forEach((proof, index) => void verifyStepProof(proof, stepProofStatement(statement, plan, index)));
  const whole = wholeStatement(statement, plan);
  return {
    statement: whole,
    statementDigest: stepStatementDigest(whole),
    soundnessBits: plan.soundness.minBits,
    soundnessSumBits: plan.soundness.sumBits - Math.log2(proofs.length),
  } as VerifiedProof;
}

function stepProofStatement(statement: ProofStatement, plan: Plan, index: number): StepProofStatement {
  const { manifest, profile, variant, recordCount, datasetRoot, borders, segments, firstStep } = statement;
  const [before, after] = [weightsDigestOf(borders[index]!, plan), weightsDigestOf(borders[index + 1]!, plan)];
  return {
    manifest,
    profile,
    variant,
    outerDigest: segmentOuterDigest(statement, stepsOf(statement, index), before, after),
    index: firstStep / manifest.superblock + index,
    recordCount,
    datasetRoot,
    data: segments[index]!.data,
    dataPath: segments[index]!.path,
    before: borders[index]!,
    after: borders[index + 1]!,
  };
}
