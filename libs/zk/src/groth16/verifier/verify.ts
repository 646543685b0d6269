/**
 * The verifier of a Groth16 proof of one segment (libs/zk/src/groth16/SPEC.md §7). It reads nothing but its arguments.
 */
import { keccak, utf8 } from '#attestation/base';
import { refuse } from '../../commit/layout/refuse.js';
import { R } from '../relation/shape.js';
import { g1Bytes, g2Bytes, isPairingProductOne, parseG1, parseG2 } from './curve.js';
import type { VerificationKey } from './key.js';

/** First four bytes of a Groth16 seal or bundle: which verifier it is for. */
export const groth16Selector: Uint8Array = keccak(utf8('veritrain/zk/fxt-groth16/1')).slice(0, 4);

/** A ‖ B ‖ C */
export const groth16ProofBytes = 2 * g1Bytes + g2Bytes;

/** −log2 of the work to break BN254's discrete logarithms, rounded down (Barbulescu–Duquesne 2017, Guillevic 2020). */
export const groth16SecurityBits = 100;

/**
 * e(A, B) = e(α, β)·e(IC_0 + Σ signal_i·IC_{i+1}, γ)·e(C, δ)
 *
 * @param signals in the order of `publicSignals`
 * @throws Rejection STEP_PROOF_LENGTH, STEP_NONCANONICAL for what is no point or no field element, STEP_FINAL_CHECK
 */
export function verifyGroth16(key: VerificationKey, signals: readonly bigint[], proof: Uint8Array): void {
  if (proof.length !== groth16ProofBytes) {
    refuse('STEP_PROOF_LENGTH', `${groth16ProofBytes} bytes`, proof.length, rule);
  }
  if (signals.length + 1 !== key.inputs.length || signals.some((signal) => signal < 0n || signal >= R)) {
    refuse('STEP_NONCANONICAL', 'one canonical field element for every public signal', 'others', rule);
  }
  const A = parseG1(proof.subarray(0, g1Bytes), 'STEP_NONCANONICAL');
  const B = parseG2(proof.subarray(g1Bytes, g1Bytes + g2Bytes), 'STEP_NONCANONICAL');
  const C = parseG1(proof.subarray(g1Bytes + g2Bytes), 'STEP_NONCANONICAL');
  const input = signals.reduce((sum, signal, i) => sum.add(key.inputs[i + 1]!.multiplyUnsafe(signal)), key.inputs[0]!);
  const pairs = [
    [A.negate(), B],
    [key.alpha, key.beta],
    [C, key.delta],
  ] as const;
  if (!isPairingProductOne(input.is0() ? pairs : [...pairs, [input, key.gamma]])) {
    refuse('STEP_FINAL_CHECK', 'a proof of this statement under this key', 'another', rule);
  }
}

const rule = 'libs/zk/src/groth16/SPEC.md §7';
