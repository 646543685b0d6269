/** `RS` after a matrix product (libs/step/SPEC.md §2, §10): Floor(x·2^-s + 1/2), exact while |x| + 2^(s-1) < 2^53. */
import type { GraphBuilder } from '../onnx/graph-builder.js';

/**
 * Emits RS(left·right + addend, s) as one Gemm with alpha = 2^-s and one Floor. Scaling by a power of two keeps every
 * partial sum a multiple of 2^-s below 2^(53-s), so the carrier stays exact in any order of summation.
 *
 * @param addend name of a tensor already scaled by 2^-s and holding the 1/2 of the rounding; broadcast to the result
 */
export function emitRoundedProduct(
  graph: GraphBuilder,
  left: string,
  right: string,
  addend: string,
  s: number,
  transposeRight: 0 | 1,
): string {
  const product = graph.node('Gemm', [left, right, addend], {
    alpha: { float: 2 ** -s },
    transB: { int: transposeRight },
  });
  return s > 0 ? graph.node('Floor', [product]) : product;
}

/** The addend of the rounding: 1/2 when RS(·, s) rounds, 0 when it only scales. */
export function roundingAddend(s: number): number {
  return s > 0 ? 0.5 : 0;
}
