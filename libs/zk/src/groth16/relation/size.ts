/**
 * How large a circuit is, without compiling it: what the choice of a backend needs (libs/zk/src/groth16/SPEC.md §8).
 */
import type { LayerScale } from '#libs/step';
import type { CircuitShape } from './shape.js';

/** Constraints of one call of Poseidon with four inputs, after the compiler's elimination. */
const poseidonConstraints = 297;

/** Constraints of the compiled circuit, within 5 %. */
export function estimateConstraints(shape: CircuitShape): number {
  const { manifest, layers, tensors, weightElements, dataElements } = shape;
  const { superblock: T, batch: B, dims } = manifest;
  const calls = (elements: number): number => 1 + Math.ceil(Math.max(elements - 2, 0) / 3);
  const ranges = tensors.reduce((sum, { dims: d, bits }) => sum + d.reduce((n, size) => n * size, bits + 1), 0);
  const hashes = poseidonConstraints * (2 * calls(weightElements) + calls(dataElements));
  const records = T * B * (8 * dims[0]! + dims.at(-1)!);
  const step = layers.reduce((sum, scale) => sum + layerConstraints(shape, scale), B * lossConstraints(shape));
  return Math.round(2 * ranges + hashes + records + T * (8 + step));
}

function layerConstraints({ manifest }: CircuitShape, scale: LayerScale): number {
  const { batch: B, ybits, gbits, abits } = manifest;
  const { inputs: n, outputs: m, forwardShift, backwardShift, isLast } = scale;
  const forward = B * n * m + B * m * (Math.max(forwardShift, 0) + ybits);
  const activation = isLast ? 0 : B * m * (ybits - abits + 4);
  const backward = backwardShift === undefined ? 0 : B * n * (m + 1 + Math.max(backwardShift, 0) + gbits);
  return forward + activation + backward + B * m * (n + 1);
}

/** Of one row. */
function lossConstraints({ manifest, layers, softmax }: CircuitShape): number {
  const { ybits, gbits } = manifest;
  const { outputs: C, g, aOut } = layers.at(-1)!;
  if (softmax === undefined) return C * ((aOut > g ? aOut - g + ybits : 0) + gbits);
  const { E, k, tableBits: x } = softmax;
  const [low, high] = [Math.floor(x / 2), x - Math.floor(x / 2)];
  const table = 2 ** low - low + 2 ** (high + 1) - high + 2 * ybits - x;
  return C * (table + k + 4) + k - E + 2 + 2 * ybits;
}
