/**
 * How large a circuit is, without compiling it: what the choice of a backend needs (libs/zk/src/groth16/SPEC.md §8).
 */
import { classCount, featureCount } from '#libs/step';
import { activation, linear } from './ops/index.js';
import type { CircuitShape } from './shape.js';

/** Constraints of one call of Poseidon with four inputs, after the compiler's elimination. */
const poseidonConstraints = 297;

/** Constraints of the compiled circuit, within 5 %. */
export function estimateConstraints(shape: CircuitShape): number {
  const { manifest, layers, tensors, weightElements, dataElements } = shape;
  const { superblock: T, batch: B } = manifest;
  const calls = (elements: number): number => 1 + Math.ceil(Math.max(elements - 2, 0) / 3);
  const ranges = tensors.reduce((sum, { dims, bits }) => sum + dims.reduce((n, size) => n * size, bits + 1), 0);
  const hashes = poseidonConstraints * (2 * calls(weightElements) + calls(dataElements));
  const records = T * B * (8 * featureCount(manifest) + classCount(manifest));
  const step = layers.reduce(
    (sum, scale) => sum + linear.constraints(manifest, scale) + activation.constraints(manifest, scale),
    B * shape.loss.constraints,
  );
  return Math.round(2 * ranges + hashes + records + T * (8 + step));
}
