/**
 * `GUARD` of libs/step/SPEC.md §2: exact range in the reference, largest magnitude per tensor and step in the graph
 * (§10).
 */
import { GuardViolation } from '../errors.js';
import { clamp } from '../integers.js';
import type { GraphBuilder } from '../onnx/graph-builder.js';

/** @throws GuardViolation when a value is outside low..high */
export function guard(values: Iterable<bigint>, low: bigint, high: bigint, tensor: string, step: number): void {
  for (const value of values) {
    if (clamp(value, low, high) !== value) throw new GuardViolation(step, tensor, `${low}..${high}`, String(value));
  }
}

/** @returns name of max |x − centre|, a float64 scalar; exact while it is below 2^52 */
export function emitGuard(graph: GraphBuilder, x: string, centre: number, output: string): string {
  const moved = centre === 0 ? x : graph.node('Sub', [x, graph.scalar(centre)]);
  return graph.node('ReduceMax', [graph.node('Abs', [moved])], { keepdims: { int: 0 } }, output);
}

/**
 * Emits x clipped to a signed range. It never changes a value of a run that succeeds; it keeps the steps after a
 * violation finite until the host has read the guards.
 */
export function emitSignedClip(graph: GraphBuilder, x: string, high: number): string {
  return graph.node('Clip', [x, graph.scalar(-high - 1), graph.scalar(high)]);
}
