/**
 * Which models Groth16 proves: those that have a circuit, and one small enough for a key
 * (libs/zk/src/groth16/SPEC.md §2, §8).
 */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { circuitShape, estimateConstraints, type CircuitShape } from '#libs/zk/verifier';

/** Beyond this a key takes minutes to hours to make, and snarkjs gigabytes to use. */
const constraintsMax = 2 ** 18;

/** @throws Rejection GROTH16_SHAPE */
export function groth16Admission(manifest: Manifest): { readonly shape: CircuitShape; readonly constraints: number } {
  const shape = circuitShape(manifest);
  const constraints = estimateConstraints(shape);
  if (constraints <= constraintsMax) return { shape, constraints };
  throw new Rejection('GROTH16_SHAPE', {
    expected: `a circuit of at most ${constraintsMax} constraints`,
    got: `about ${constraints}`,
    rule: 'libs/zk/src/groth16/SPEC.md §8',
    action: 'use --backend sumcheck',
  });
}
