/** Verification keys as bytes, and what their digest binds (libs/zk/src/groth16/SPEC.md §6). */
import { equalBytes, taggedDigest, utf8, word } from '#attestation/base';
import { refuse } from '../../commit/layout/refuse.js';
import { circuitDigest, publicSignals } from '../relation/circuit.js';
import type { CircuitShape } from '../relation/shape.js';
import { g1Bytes, g2Bytes, parseG1, parseG2, type G1, type G2 } from './curve.js';
import { recordSizes, weightLayoutDigest } from './digests.js';

/**
 * How a key was made. `development`: phase 2 by one machine, which could have kept what forges proofs. `external`: by a
 * ceremony of several parties, imported and checked against its circuit.
 */
export type Ceremony = 'development' | 'external';

export interface VerificationKey {
  readonly alpha: G1;
  readonly beta: G2;
  readonly gamma: G2;
  readonly delta: G2;
  /** One more than public signals. */
  readonly inputs: readonly G1[];
}

/** α ‖ β ‖ γ ‖ δ ‖ IC_0 … IC_6 */
export const keyBytes = g1Bytes + 3 * g2Bytes + (publicSignals.length + 1) * g1Bytes;

/** @throws Rejection GROTH16_KEY; a key whose γ equals its δ lets anyone forge */
export function parseKey(bytes: Uint8Array): VerificationKey {
  if (bytes.length !== keyBytes) refuse('GROTH16_KEY', `${keyBytes} bytes`, bytes.length, rule);
  const g2At = (index: number): Uint8Array =>
    bytes.subarray(g1Bytes + index * g2Bytes, g1Bytes + (index + 1) * g2Bytes);
  const inputsAt = g1Bytes + 3 * g2Bytes;
  if (equalBytes(g2At(1), g2At(2))) {
    refuse('GROTH16_KEY', 'a key with at least one contribution', 'γ = δ', rule);
  }
  return {
    alpha: parseG1(bytes.subarray(0, g1Bytes), 'GROTH16_KEY'),
    beta: parseG2(g2At(0), 'GROTH16_KEY'),
    gamma: parseG2(g2At(1), 'GROTH16_KEY'),
    delta: parseG2(g2At(2), 'GROTH16_KEY'),
    inputs: Array.from({ length: publicSignals.length + 1 }, (_, i) =>
      parseG1(bytes.subarray(inputsAt + i * g1Bytes, inputsAt + (i + 1) * g1Bytes), 'GROTH16_KEY'),
    ),
  };
}

/** Names a key: its circuit, how it was made, and its points. 32 bytes. */
export function keyDigest(circuit: Uint8Array, ceremony: Ceremony, bytes: Uint8Array): Uint8Array {
  return taggedDigest('fxt-groth16/key/1', circuit, taggedDigest('fxt-groth16/ceremony/1', utf8(ceremony)), bytes);
}

/**
 * Names a circuit with its key and what the verifier on chain needs of its shape: what a job's terms hold where those of
 * `fxt-zk/1` hold their planDigest.
 */
export function groth16PlanDigest(shape: CircuitShape, ceremony: Ceremony, bytes: Uint8Array): Uint8Array {
  return taggedDigest(
    'fxt-groth16/plan/1',
    keyDigest(circuitDigest(shape), ceremony, bytes),
    weightLayoutDigest(shape),
    ...recordSizes(shape).map(word),
  );
}

const rule = 'libs/zk/src/groth16/SPEC.md §6';
