/** Exact SGD update, `W' = W − m·AᵀG`, `b' = b − m·Σ_r G` (libs/step/SPEC.md §7). */
import { contract, matrix, type Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LayerScale } from '../scale.js';

/** @returns D [n_{l-1}, n_l] and δ [1, n_l] */
export function gradients(scale: LayerScale, A: Matrix, G: Matrix): { D: Matrix; delta: Matrix } {
  const { inputs, outputs } = scale;
  const D = contract(
    inputs,
    outputs,
    A.rows,
    (i, r) => A.data[r * inputs + i]!,
    (r, c) => G.data[r * outputs + c]!,
  );
  const delta = matrix(1, outputs, (_, c) => {
    let sum = 0n;
    for (let r = 0; r < G.rows; r++) sum += G.data[r * outputs + c]!;
    return sum;
  });
  return { D, delta };
}

export function descend(values: BigInt64Array, gradient: Matrix, m: number): BigInt64Array {
  return values.map((value, i) => value - BigInt(m) * gradient.data[i]!);
}

/** Left side of R3. */
export function updateBound(scale: LayerScale, batch: number, mMax: number): bigint {
  const change = BigInt(mMax) * BigInt(batch) * BigInt(scale.inputMax) * BigInt(scale.errorMax);
  return (1n << BigInt(scale.weightBits)) + change;
}

/**
 * Emits both updates. m scales G rather than D: batch·width products instead of one per weight.
 *
 * @returns names of W' and b'
 */
export function emitUpdate(
  graph: GraphBuilder,
  A: string,
  G: string,
  m: string,
  W: string,
  b: string,
): { W: string; b: string } {
  const scaled = graph.node('Mul', [G, m]);
  const sum = graph.node('ReduceSum', [scaled, graph.axes(0)], { keepdims: { int: 0 } });
  return {
    W: graph.node('Gemm', [A, scaled, W], { alpha: { float: -1 }, transA: { int: 1 } }),
    b: graph.node('Sub', [b, sum]),
  };
}
