/** Gradient of softmax cross-entropy by one table and one reciprocal per row (libs/step/SPEC.md §5, §6). */
import { floorDiv, roundShift } from '../integers.js';
import { mapMatrix, matrix, type Matrix } from '../matrix.js';
import type { Manifest } from '../manifest.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import { roundingAddend } from './rounding.js';

type SoftmaxLoss = Extract<Manifest['loss'], { kind: 'softmax-ce' }>;

export interface SoftmaxTrace {
  /** ε and p: [B, C]; S and ι: [B, 1]. */
  readonly epsilon: Matrix;
  readonly S: Matrix;
  readonly iota: Matrix;
  readonly p: Matrix;
  readonly G: Matrix;
}

export function softmaxGradient(
  loss: SoftmaxLoss,
  g: number,
  table: Int32Array,
  Y: Matrix,
  labels: ArrayLike<number>,
): SoftmaxTrace {
  const C = Y.columns;
  const row = (x: Matrix, r: number) => x.data.slice(r * C, r * C + C);
  const epsilon = matrix(Y.rows, C, (r, c) => {
    const largest = row(Y, r).reduce((max, y) => (y > max ? y : max));
    return BigInt(table[Number(largest - Y.data[r * C + c]!)]!);
  });
  const S = matrix(Y.rows, 1, (r) => row(epsilon, r).reduce((sum, x) => sum + x, 0n));
  const iota = mapMatrix(S, (sum) => floorDiv(1n << BigInt(loss.k), sum));
  const p = mapMatrix(epsilon, (x, i) => roundShift(x * iota.data[Math.floor(i / C)]!, loss.k - g));
  const one = 1n << BigInt(g);
  return { epsilon, S, iota, p, G: mapMatrix(p, (x, i) => x - (labels[Math.floor(i / C)] === i % C ? one : 0n)) };
}

/** Left sides of R4. */
export function softmaxBounds(loss: SoftmaxLoss, g: number, classes: number): { reciprocal: bigint; sum: bigint } {
  const shift = loss.k - g;
  return {
    reciprocal: (1n << BigInt(loss.k)) + (shift > 0 ? 1n << BigInt(shift - 1) : 0n),
    sum: BigInt(classes) << BigInt(loss.E),
  };
}

/**
 * @param labels name of the int32 labels [B]
 * @returns name of G_L, float64 [B, C]
 */
export function emitSoftmaxGradient(
  graph: GraphBuilder,
  loss: SoftmaxLoss,
  g: number,
  classes: number,
  table: Int32Array,
  Y: string,
  labels: string,
): string {
  const shift = loss.k - g;
  const largest = graph.node('ReduceMax', [Y], { axes: { ints: [1] }, keepdims: { int: 1 } });
  const index = graph.node('Cast', [graph.node('Sub', [largest, Y])], { to: { int: 6 } });
  const epsilon = graph.node('Gather', [graph.float64([table.length], Float64Array.from(table)), index]);
  const S = graph.node('ReduceSum', [epsilon, graph.axes(1)], { keepdims: { int: 1 } });
  const iota = graph.node('Floor', [graph.node('Div', [graph.scalar(2 ** loss.k), S])]);
  const p = graph.node('Mul', [epsilon, graph.node('Mul', [iota, graph.scalar(2 ** -shift)])]);
  const sum = graph.node('Add', [p, emitOneHot(graph, classes, -(2 ** g), roundingAddend(shift), labels)]);
  return shift > 0 ? graph.node('Floor', [sum]) : sum;
}

/** Emits `offset + factor·[c = y]` as one Gather from a C×C table; float64 [B, C]. */
export function emitOneHot(
  graph: GraphBuilder,
  classes: number,
  factor: number,
  offset: number,
  labels: string,
): string {
  const rows = new Float64Array(classes * classes).fill(offset);
  for (let c = 0; c < classes; c++) rows[c * classes + c] = offset + factor;
  return graph.node('Gather', [graph.float64([classes, classes], rows), labels]);
}
