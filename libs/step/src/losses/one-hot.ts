/** The labels as a loss subtracts them. */
import type { GraphBuilder } from '../onnx/graph-builder.js';

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
