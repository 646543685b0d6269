/**
 * Mutates step proofs and their statements by a seed and hands them to the verifier of libs/zk through its door: no
 * mutant is accepted, none makes it crash, and each meets a code of the protocol.
 */
import { Rejection, toHex } from '#attestation';
import { verifyStepProof, type StepProofStatement } from '#libs/zk/verifier';
import { smallProofs } from '#test/small-proof';
import type { FuzzReport } from './attestation-fuzz.js';
import { random } from './random.js';

const codes = /^(STEP_(NONCANONICAL|POW|MERKLE_\w+|FINAL_CHECK|PROOF_LENGTH|STATEMENT|PLAN)|MERKLE_PATH)$/;

type Draw = (below: number) => number;

/** Ways to spoil a proof; `other` is an accepted proof of the same segment. */
const spoil: readonly ((proof: Uint8Array, draw: Draw, other: Uint8Array) => Uint8Array)[] = [
  (proof, draw) => altered(proof, draw(proof.length), (byte) => byte ^ (1 << draw(8))),
  (proof, draw) => proof.slice(0, draw(proof.length)),
  (proof, draw) => Uint8Array.from([...proof, ...new Uint8Array(1 + draw(64)).fill(draw(256))]),
  (proof, draw) => {
    const at = 8 * draw(Math.floor(proof.length / 8) - 1);
    return Uint8Array.from(proof).fill(draw(2) * 255, at, at + 8);
  },
  (proof, draw) => {
    const [a, b] = [8 * draw(Math.floor(proof.length / 8)), 8 * draw(Math.floor(proof.length / 8))];
    const copy = Uint8Array.from(proof);
    copy.set(proof.subarray(a, a + 8), b);
    copy.set(proof.subarray(b, b + 8), a);
    return copy;
  },
  (proof, draw, other) => {
    const from = draw(Math.min(proof.length, other.length));
    const copy = Uint8Array.from(proof);
    copy.set(other.subarray(from, Math.min(from + 1 + draw(4096), other.length, proof.length)), from);
    return copy;
  },
  (proof, draw) => {
    const from = draw(proof.length);
    const until = Math.min(proof.length, from + 1 + draw(256));
    return Uint8Array.from([...proof.subarray(0, from), ...proof.subarray(until)]);
  },
];

function altered(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = change(copy[at]!);
  return copy;
}

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

function flipped(bytes: Uint8Array, draw: Draw): Uint8Array {
  return altered(bytes, draw(bytes.length), (byte) => byte ^ (1 << draw(8)));
}

/** @param count mutants, one in sixteen of the statement */
export function fuzzStepProofs(count: number, fuzzSeed: number): FuzzReport {
  const [{ proof, statement }, { proof: other }] = smallProofs();
  verifyStepProof(proof, statement);
  const draw = random(fuzzSeed);
  const failures: FuzzReport['failures'][number][] = [];
  let refused = 0;
  for (let k = 0; k < count; k++) {
    const ofStatement = k % 16 === 15;
    const way = draw(ofStatement ? restate.length : spoil.length);
    const mutant = ofStatement ? proof : spoil[way]!(proof, draw, other);
    if (!ofStatement && toHex(mutant) === toHex(proof)) continue;
    const claimed = ofStatement ? restate[way]!(statement, draw) : statement;
    const what = judge(mutant, claimed);
    if (what === undefined) refused += 1;
    else failures.push({ target: ofStatement ? 'statement' : 'proof', what, input: `way ${way}, mutant ${k}` });
  }
  return { seed: fuzzSeed, inputs: count, refused, failures };
}

/** Undefined for a refusal with a code of the protocol. */
function judge(proof: Uint8Array, statement: StepProofStatement): string | undefined {
  try {
    verifyStepProof(proof, statement);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof Rejection)) return `crashed: ${String(error)}`;
    return codes.test(error.code) ? undefined : `refused with ${error.code}`;
  }
}
