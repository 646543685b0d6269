/** Changed step proofs and statements, handed to the verifier (proof-fuzz.ts). */
import { verifyStepProof, type StepProofStatement } from '#libs/zk/verifier';
import { smallProofs } from '#test/small-proof';
import type { FuzzReport, OnProgress } from './fuzz.js';
import { flipped } from './mutants.js';
import type { Draw } from './random.js';
import { fuzzProofs, type Judge } from './proof-fuzz.js';

const restate: Judge<StepProofStatement>['restate'] = [
  (statement, draw) => ({ ...statement, outerDigest: flipped(statement.outerDigest, draw) }),
  (statement, draw) => ({ ...statement, datasetRoot: flipped(statement.datasetRoot, draw) }),
  (statement, draw) => ({ ...statement, index: 1 + draw(80) }),
  ...(['before', 'after', 'data'] as const).flatMap((name) =>
    (['root', 'ood'] as const).map((half) => (statement: StepProofStatement, draw: Draw): StepProofStatement => {
      const commitment = statement[name];
      return { ...statement, [name]: { ...commitment, [half]: flipped(commitment[half], draw) } };
    }),
  ),
  (statement, draw) => ({ ...statement, dataPath: statement.dataPath.map((node) => flipped(node, draw)) }),
  (statement, draw) => ({ ...statement, manifest: { ...statement.manifest, steps: 1 + draw(63) } }),
  (statement, draw) => ({ ...statement, profile: ['chain16', 'fast16', 'small', 'large', 'none'][draw(5)]! }),
  (statement) => ({ ...statement, variant: 'separate' }),
];

/** @param count mutants; @param verify the verifier */
export function fuzzStepProofs(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  verify: Judge<StepProofStatement>['verify'] = verifyStepProof,
): Promise<FuzzReport> {
  const proofs = smallProofs();
  verifyStepProof(proofs[0].proof, proofs[0].statement);
  return fuzzProofs({ proofs, restate, verify }, count, seed, onProgress);
}
