/**
 * Error handed back through a dense layer, `G_{l-1} = M ⊙ RS(G_l·W_lᵀ, g_l + w_l − g_{l-1})` (libs/step/SPEC.md §7).
 */
import { roundShift } from '../integers.js';
import { contract, mapMatrix, type Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LayerScale } from '../scale.js';
import { emitRoundedProduct, roundingAddend } from './rounding.js';

/** @returns H and its rounding R before guard and mask, both [B, n_{l-1}] */
export function backError(scale: LayerScale, G: Matrix, W: BigInt64Array): { H: Matrix; R: Matrix } {
  const { inputs, outputs } = scale;
  const H = contract(
    G.rows,
    inputs,
    outputs,
    (r, i) => G.data[r * outputs + i]!,
    (i, c) => W[c * outputs + i]!,
  );
  return { H, R: mapMatrix(H, (value) => roundShift(value, scale.backwardShift!)) };
}

/** Left side of R2, for l ≥ 2. */
export function errorBound(scale: LayerScale): bigint {
  const { outputs, errorMax, weightBits, backwardShift: s } = scale;
  const products = BigInt(outputs) * BigInt(errorMax) * (1n << BigInt(weightBits));
  return products + (s! > 0 ? 1n << BigInt(s! - 1) : 0n);
}

/** @returns name of RS(G·Wᵀ, …) before guard and mask, float64 [B, n_{l-1}] */
export function emitBackError(graph: GraphBuilder, scale: LayerScale, G: string, W: string): string {
  const s = scale.backwardShift!;
  return emitRoundedProduct(graph, G, W, graph.scalar(roundingAddend(s)), s, 1);
}
