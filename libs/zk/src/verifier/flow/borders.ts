/**
 * Weights where segments begin and end. Of a proof of several segments the ends are in the witness, and each begins where
 * the one before ended (libs/zk/SPEC.md §20).
 */
import * as F from '../../commit/field/extension.js';
import type { Ext } from '../../commit/field/extension.js';
import { bitPoint, eqIndex, eqTable, type Point } from '../../commit/field/multilinear.js';
import type { Shape } from '../../commit/layout/shape.js';
import { minus, plus, times, type Axis, type LinearForm } from '../linear-form.js';
import type { Cells } from '../losses/index.js';
import type { MaskedProtocol } from '../masked-protocol.js';

type Tensor = 'W' | 'b';

/** After every segment, at a point of the segments before the other axes where there are several. */
export function weightsAfter(protocol: Cells, tensor: Tensor, layer: number, axes: readonly Axis[]): LinearForm {
  return protocol.plan.shape.segmentVars > 0
    ? protocol.cell('S', `${tensor}n${layer}`, ...axes)
    : protocol.cell('WT', `${tensor}${layer}`, ...axes);
}

/** Before every segment, interpolated at a point of the segments. */
export function weightsBefore(
  protocol: MaskedProtocol,
  tensor: Tensor,
  layer: number,
  segment: Point,
  axes: readonly Axis[],
): LinearForm {
  const first = protocol.cell('W0', `${tensor}${layer}`, ...axes);
  if (protocol.plan.shape.segmentVars === 0) return first;
  const weights = [...eqTable(segment).slice(1), F.ZERO];
  return plus(times(first, eqIndex(segment, 0)), protocol.cell('S', `${tensor}n${layer}`, { weights }, ...axes));
}

/** What the segment at a point of the segments adds to the weights, negated. */
export function moved(
  protocol: MaskedProtocol,
  tensor: Tensor,
  layer: number,
  segment: Point,
  axes: readonly Axis[],
): LinearForm {
  const own = protocol.plan.shape.segmentVars > 0 ? [{ point: segment }] : [];
  return minus(
    weightsBefore(protocol, tensor, layer, segment, axes),
    weightsAfter(protocol, tensor, layer, [...own, ...axes]),
  );
}

/** The last segment ends in the weights after. */
export function requireEnd(protocol: MaskedProtocol, tensor: Tensor, layer: number, axes: readonly Axis[]): void {
  const { segmentVars } = protocol.plan.shape;
  if (segmentVars === 0) return;
  const last = { point: bitPoint(2 ** segmentVars - 1, segmentVars) };
  const end = protocol.cell('S', `${tensor}n${layer}`, last, ...axes);
  protocol.require(minus(end, protocol.cell('WT', `${tensor}${layer}`, ...axes)));
}

/** The first coordinates of a point of the steps: those of the segment. */
export function segmentOf({ segmentVars }: Shape, step: Point): Point {
  return step.slice(0, segmentVars);
}

/**
 * lt_s = m_s·Σ eq(point, τ) over the steps τ > s of the segment of s: how much the update of step s has moved W at an
 * interpolated step.
 */
export function updateWeights({ segmentVars }: Shape, point: Point, stepSizes: readonly number[]): Ext[] {
  const table = eqTable(point);
  const length = table.length / 2 ** segmentVars;
  const weights = new Array<Ext>(table.length);
  let later = F.ZERO;
  for (let s = table.length - 1; s >= 0; s--) {
    if (s % length === length - 1) later = F.ZERO;
    weights[s] = F.scale(later, BigInt(stepSizes[s]!));
    later = F.add(later, table[s]!);
  }
  return weights;
}

/** m_s·eq(segment, the segment of s). */
export function segmentWeights({ segmentVars }: Shape, segment: Point, stepSizes: readonly number[]): Ext[] {
  const table = eqTable(segment);
  const length = stepSizes.length / 2 ** segmentVars;
  return stepSizes.map((size, s) => F.scale(table[Math.floor(s / length)]!, BigInt(size)));
}
