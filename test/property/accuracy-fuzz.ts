/** Changed proofs of how many records are classed right, and their statements, handed to the verifier (proof-fuzz.ts). */
import { verifyAccuracyProof, type AccuracyStatement } from '#libs/zk/verifier';
import { smallAccuracyProofs } from '#test/small-proof';
import type { FuzzReport, OnProgress } from './fuzz.js';
import { flipped } from './mutants.js';
import type { Draw } from './random.js';
import { fuzzProofs, type Judge } from './proof-fuzz.js';

const restate: Judge<AccuracyStatement>['restate'] = [
  (statement, draw) => ({ ...statement, outerDigest: flipped(statement.outerDigest, draw) }),
  (statement, draw) => ({ ...statement, correct: statement.correct + 1 + draw(4) }),
  (statement, draw) => ({ ...statement, correct: statement.correct - 1 - draw(4) }),
  (statement, draw) => ({ ...statement, records: statement.records + 1 + draw(20) }),
  (statement, draw) => ({ ...statement, records: statement.records - 1 - draw(6) }),
  ...(['weights', 'data'] as const).flatMap((name) =>
    (['root', 'ood'] as const).map((half) => (statement: AccuracyStatement, draw: Draw): AccuracyStatement => {
      const commitment = statement[name];
      return { ...statement, [name]: { ...commitment, [half]: flipped(commitment[half], draw) } };
    }),
  ),
  (statement) => ({ ...statement, weights: statement.data, data: statement.weights }),
  (statement, draw) => ({ ...statement, manifest: { ...statement.manifest, steps: 1 + draw(63) } }),
  (statement, draw) => ({ ...statement, profile: ['chain16', 'fast16', 'small', 'large', 'none'][draw(5)]! }),
];

/** @param count mutants; @param verify the verifier */
export function fuzzAccuracy(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  verify: Judge<AccuracyStatement>['verify'] = verifyAccuracyProof,
): Promise<FuzzReport> {
  const proofs = smallAccuracyProofs();
  verifyAccuracyProof(proofs[0].proof, proofs[0].statement);
  return fuzzProofs({ proofs, restate, verify }, count, seed, onProgress);
}
