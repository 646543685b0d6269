/**
 * Mutates a proof and its statement by a seed and hands them to a verifier of libs/zk: no mutant is accepted, none makes it
 * crash, and each meets a code of the protocol.
 */
import { equalBytes, toHex } from '#attestation/base';
import { fuzz, judged, type FuzzReport, type OnProgress } from './fuzz.js';
import { extended, flipped, mutantOf, shortened, spliced, swapped, truncated } from './mutants.js';
import type { Draw } from './random.js';

/** Codes of the protocol. */
const codes = /^(STEP_(NONCANONICAL|POW|MERKLE_\w+|FINAL_CHECK|PROOF_LENGTH|STATEMENT|PLAN)|MERKLE_PATH)$/;

/** Ways to spoil a proof; `other` is an accepted proof of the same statement. */
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

interface Proved<S> {
  readonly proof: Uint8Array;
  readonly statement: S;
}

export interface Judge<S> {
  /** An accepted proof, and another of the same statement. */
  readonly proofs: readonly [Proved<S>, Proved<S>];
  /** Ways to state something else. */
  readonly restate: readonly ((statement: S, draw: Draw) => S)[];
  verify(proof: Uint8Array, statement: S): unknown;
}

/** @param count mutants, one in sixteen of the statement */
export function fuzzProofs<S>(
  { proofs: [{ proof, statement }, { proof: other }], restate, verify }: Judge<S>,
  count: number,
  seed: number,
  onProgress?: OnProgress,
): Promise<FuzzReport> {
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
