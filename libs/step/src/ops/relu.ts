/** Hidden activation: ReLU that clips, and the mask that is its derivative (libs/step/SPEC.md §4). */
import { clamp } from '../integers.js';
import { mapMatrix, type Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';

/** @returns A in 0..2^abits − 1 and its derivative M in {0, 1} */
export function clippedRelu(Y: Matrix, abits: number): { A: Matrix; M: Matrix } {
  const max = (1n << BigInt(abits)) - 1n;
  return {
    A: mapMatrix(Y, (y) => clamp(y, 0n, max)),
    M: mapMatrix(Y, (y) => (y > 0n && y < max ? 1n : 0n)),
  };
}

/** @returns name of A */
export function emitClippedRelu(graph: GraphBuilder, Y: string, abits: number): string {
  return graph.node('Clip', [Y, graph.scalar(0), graph.scalar(2 ** abits - 1)]);
}

/** Emits M ⊙ x. The mask is read off A: 0 < A < max exactly when 0 < Y < max. */
export function emitMasked(graph: GraphBuilder, A: string, x: string, abits: number): string {
  const positive = graph.node('Greater', [A, graph.scalar(0)]);
  const unclipped = graph.node('Less', [A, graph.scalar(2 ** abits - 1)]);
  return graph.node('Where', [graph.node('And', [positive, unclipped]), x, graph.scalar(0)]);
}
