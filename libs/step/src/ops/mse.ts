/**
 * Gradient of the squared loss, `G_L = RS(Y_L, a_L − g_L) − 2^g_L·[c = y]`, guarded to gbits (libs/step/SPEC.md §5).
 */
import { roundShift } from '../integers.js';
import { mapMatrix, type Matrix } from '../matrix.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';
import { roundingAddend } from './rounding.js';
import { emitOneHot } from './softmax-ce.js';

/** @returns G_L before its guard, [B, C] */
export function mseGradient(a: number, g: number, Y: Matrix, labels: ArrayLike<number>): Matrix {
  const one = 1n << BigInt(g);
  return mapMatrix(
    Y,
    (y, i) => roundShift(y, a - g) - (labels[Math.floor(i / Y.columns)] === i % Y.columns ? one : 0n),
  );
}

/** @returns name of G_L before its guard */
export function emitMseGradient(
  graph: GraphBuilder,
  a: number,
  g: number,
  classes: number,
  Y: string,
  labels: string,
): string {
  const s = a - g;
  const scaled = graph.node('Mul', [Y, graph.scalar(2 ** -s)]);
  const sum = graph.node('Add', [scaled, emitOneHot(graph, classes, -(2 ** g), roundingAddend(s), labels)]);
  return s > 0 ? graph.node('Floor', [sum]) : sum;
}
