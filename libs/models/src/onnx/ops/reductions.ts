/** Values of reductions: over the axes that are named, or over all. */
import { intOf, axesOf } from '../attributes.js';
import { sizeOf, stridesOf, type Constant } from '../constant.js';
import type { OnnxNode } from '../decode.js';

const reducers: Readonly<
  Record<string, { readonly start: number; add(sum: number, x: number): number; end?(sum: number, n: number): number }>
> = {
  ReduceMax: { start: -Infinity, add: Math.max },
  ReduceMean: { start: 0, add: (sum, x) => sum + x, end: (sum, n) => sum / n },
  ReduceMin: { start: Infinity, add: Math.min },
  ReduceProd: { start: 1, add: (sum, x) => sum * x },
  ReduceSum: { start: 0, add: (sum, x) => sum + x },
};

export const reductionOps: ReadonlySet<string> = new Set([...Object.keys(reducers), 'GlobalAveragePool']);

/** Axes that a reduction runs over, and whether they stay with size 1. */
export function reducedAxes(
  node: OnnxNode,
  axes: Constant | undefined,
  rank: number,
): { readonly axes: readonly number[]; readonly isKept: boolean } {
  if (node.op === 'GlobalAveragePool')
    return { axes: Array.from({ length: Math.max(0, rank - 2) }, (_, k) => k + 2), isKept: true };
  const named = axesOf(node, axes, rank) ?? [];
  const all = intOf(node, 'noop_with_empty_axes', 0) === 0 ? Array.from({ length: rank }, (_, k) => k) : [];
  return { axes: named.length > 0 ? named : all, isKept: intOf(node, 'keepdims', 1) !== 0 };
}

/** @returns the value, or undefined when the node is no reduction */
export function reduction(node: OnnxNode, [x, given]: readonly (Constant | undefined)[]): Constant | undefined {
  if (x === undefined || !reductionOps.has(node.op)) return undefined;
  const {
    start,
    add,
    end = (sum: number) => sum,
  } = reducers[node.op === 'GlobalAveragePool' ? 'ReduceMean' : node.op]!;
  const { axes, isKept } = reducedAxes(node, given, x.dims.length);
  const kept = x.dims.map((size, k) => (axes.includes(k) ? 1 : size));
  const steps = stridesOf(kept).map((step, k) => (axes.includes(k) ? 0 : step));
  const sums = new Float64Array(sizeOf(kept)).fill(start);
  const place = x.dims.map(() => 0);
  for (let [i, at] = [0, 0]; i < x.values.length; i++) {
    sums[at] = add(sums[at]!, x.values[i]!);
    for (let k = x.dims.length - 1; k >= 0; k--) {
      at += steps[k]!;
      if (++place[k]! < x.dims[k]!) break;
      at -= place[k]! * steps[k]!;
      place[k] = 0;
    }
  }
  const count = axes.reduce((product, axis) => product * x.dims[axis]!, 1);
  return {
    kind: x.kind,
    dims: isKept ? kept : x.dims.filter((_, k) => !axes.includes(k)),
    values: sums.map((sum) => end(sum, count)),
  };
}
