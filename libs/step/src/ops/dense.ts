/**
 * Pre-activation of a dense layer, `Y = RS(A·W + 2^(2a)·b, s)` (libs/step/SPEC.md §4). Derivatives: back.ts,
 * update.ts.
 */
import { roundShift } from '../integers.js';
import { contract, mapMatrix, type Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import type { LayerScale } from '../scale.js';
import { emitRoundedProduct, roundingAddend } from './rounding.js';

/** @returns Z and the unguarded Y, both [B, n_l] */
export function dense(scale: LayerScale, A: Matrix, W: BigInt64Array, b: BigInt64Array): { Z: Matrix; Y: Matrix } {
  const { inputs, outputs, aIn, forwardShift } = scale;
  const product = contract(
    A.rows,
    outputs,
    inputs,
    (r, i) => A.data[r * inputs + i]!,
    (i, c) => W[i * outputs + c]!,
  );
  const Z = mapMatrix(product, (value, index) => value + (b[index % outputs]! << BigInt(2 * aIn)));
  return { Z, Y: mapMatrix(Z, (value) => roundShift(value, forwardShift)) };
}

/** Left side of R1. */
export function forwardBound(scale: LayerScale): bigint {
  const { inputs, inputMax, weightBits, biasBits, aIn, forwardShift: s } = scale;
  const products = BigInt(inputs) * BigInt(inputMax) * (1n << BigInt(weightBits));
  return products + (1n << BigInt(2 * aIn + biasBits)) + (s > 0 ? 1n << BigInt(s - 1) : 0n);
}

/** @returns name of the unguarded Y, float64 [B, n_l] */
export function emitDense(graph: GraphBuilder, scale: LayerScale, A: string, W: string, b: string): string {
  const s = scale.forwardShift;
  const scaledBias = graph.node('Mul', [b, graph.scalar(2 ** (2 * scale.aIn - s))]);
  const addend = graph.node('Add', [scaledBias, graph.scalar(roundingAddend(s))]);
  return emitRoundedProduct(graph, A, W, addend, s, 0);
}
