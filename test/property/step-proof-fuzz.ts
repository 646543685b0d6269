/**
 * Mutates step proofs and their statements by a seed and hands them to the verifier of libs/zk through its door: no
 * mutant is accepted, none makes it crash, and each meets a code of the protocol.
 */
import { equalBytes, toHex } from '#attestation/base';
import { verifyStepProof, type StepProofStatement } from '#libs/zk/verifier';
import { smallProofs } from '#test/small-proof';
import { fuzz, judged, type FuzzReport, type OnProgress } from './fuzz.js';
import { extended, flipped, mutantOf, shortened, spliced, swapped, truncated } from './mutants.js';
import type { Draw } from './random.js';

const codes = /^(STEP_(NONCANONICAL|POW|MERKLE_\w+|FINAL_CHECK|PROOF_LENGTH|STATEMENT|PLAN)|MERKLE_PATH)$/;

/** Ways to spoil a proof; `other` is an accepted proof of the same segment. */
const spoil: readonly ((proof: Uint8Array, draw: Draw, other: Uint8Array) => Uint8Array)[] = [
  flipped,
  truncated,
  extended,
  (proof, draw) => {
    const at = 8 * draw(Math.floor(proof.length / 8) - 1);
    return Uint8Array.from(proof).fill(draw(2) * 255, at, at + 8);
  },
  (proof, draw) => swapped(proof, 8, draw),
  (proof, draw, other) => spliced(proof, draw, other, 4096),
  shortened,
  mutantOf,
];

/** Ways to state something else. */
const restate: readonly ((statement: StepProofStatement, draw: Draw) => StepProofStatement)[] = [
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

type VerifyStep = (proof: Uint8Array, statement: StepProofStatement) => unknown;

/** @param count mutants, one in sixteen of the statement; @param verify the verifier */
export function fuzzStepProofs(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  verify: VerifyStep = verifyStepProof,
): Promise<FuzzReport> {
  const [{ proof, statement }, { proof: other }] = smallProofs();
  verifyStepProof(proof, statement);
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const ofStatement = k % 16 === 15;
    const way = draw(ofStatement ? restate.length : spoil.length);
    const mutant = ofStatement ? proof : spoil[way]!(proof, draw, other);
    const claimed = ofStatement ? restate[way]!(statement, draw) : statement;
    const isSame = !ofStatement && equalBytes(mutant, proof);
    return {
      target: ofStatement ? `statement, way ${way}` : `proof, way ${way}`,
      input: () => (ofStatement ? `mutant ${k} of seed ${seed}` : toHex(mutant)),
      run: () => (isSame ? 'taken' : judged(() => verify(mutant, claimed), undefined, codes)),
    };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
