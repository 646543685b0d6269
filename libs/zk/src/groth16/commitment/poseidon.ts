/** Poseidon over BN254's scalar field with four inputs, as circomlib's: constants from the Grain LFSR (ePrint 2019/458). */
import { Field } from '@noble/curves/abstract/modular.js';
import { grainGenConstants, poseidon, type PoseidonFn } from '@noble/curves/abstract/poseidon.js';
import { R } from '../relation/shape.js';

const parameters = { Fp: Field(R), t: 5, roundsFull: 8, roundsPartial: 60 };
let permutation: PoseidonFn | undefined;

/** @param inputs four field elements */
function poseidon4(inputs: readonly bigint[]): bigint {
  permutation ??= poseidon({ ...parameters, ...grainGenConstants(parameters), sboxPower: 5 });
  return permutation([0n, ...inputs])[0]!;
}

/** The hash chain of a commitment: tag and blind, then the elements; the last call is filled up with zeros. */
export function poseidonCommit(tag: bigint, blind: bigint, elements: readonly bigint[]): bigint {
  const at = (index: number): bigint => elements[index] ?? 0n;
  let hash = poseidon4([tag, blind, at(0), at(1)]);
  for (let k = 2; k < elements.length; k += 3) hash = poseidon4([hash, at(k), at(k + 1), at(k + 2)]);
  return hash;
}
