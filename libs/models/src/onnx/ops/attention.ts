/** Products of two edges: queries with keys, and what the softmax of them makes of the values. */
import { cannot } from '../../errors.js';
import { intOf } from '../attributes.js';
import { axisOf, sizeOf } from '../constant.js';
import { uniformScale } from '../affine.js';
import type { OnnxNode } from '../decode.js';
import type { Edge, NetDraft, Value } from '../draft.js';
import { edgeInput, type Rule } from '../rule.js';
import { batchStride, isAxis, movedView, type Axis, type View } from '../view.js';

const instead = 'softmax(q·kᵀ/√d)·v with heads [batch, heads, places, d]';

interface Heads {
  readonly edge: Edge;
  readonly scale: number;
  /** All axes of the tensor but the last two: batch and heads. */
  readonly lead: View['dims'];
  readonly heads: number;
}

/** A value [batch, heads, places, d], `isTurned` with the last two exchanged, over an edge [places, heads·d]. */
function headsOf(draft: NetDraft, given: Value, isTurned: boolean): Heads {
  const value = draft.whole(given);
  const scale = uniformScale(value);
  const { edge, view } = scale === undefined ? draft.settled(value) : value;
  const [T, C] = edge.shape;
  const [outer, last] = view.dims.slice(-2);
  const [rows, inner] = isTurned ? [last, outer] : [outer, last];
  if (C === undefined || inner === undefined) return cannot('a product of edges that is no attention', instead);
  const d = sizeOf(inner.map(({ size }) => size));
  const lead = view.dims.slice(0, -2);
  const heads = C / d;
  const isHeads =
    edge.shape.length === 2 &&
    isAxis(rows, T!, C) &&
    isAxis(inner, d, 1) &&
    isAxis(
      lead.flat().filter(({ stride }) => stride !== batchStride),
      heads,
      d,
    );
  return isHeads ? { edge, scale: scale ?? 1, lead, heads } : cannot('a product of edges that are no heads', instead);
}

/** `lead` of queries as `lead` of their scores: the heads with strides of T². */
const scoreLead = (lead: View['dims'], T: number): View['dims'] =>
  movedView({ dims: lead, offset: 0 }, ({ size }) => ({ size, stride: T * T })).dims;

/** An axis of the record. */
const places = (T: number, stride: number): readonly Axis[] => (T === 1 ? [] : [{ size: T, stride }]);

function scoresOf(draft: NetDraft, left: Value, right: Value): Value {
  const [q, k] = [headsOf(draft, left, false), headsOf(draft, right, true)];
  if (JSON.stringify(q.lead) !== JSON.stringify(k.lead) || String(q.edge.shape) !== String(k.edge.shape))
    cannot('queries and keys of other shapes', instead);
  const T = q.edge.shape[0]!;
  const scores = {
    q: q.edge,
    k: k.edge,
    heads: q.heads,
    scale: q.scale * k.scale,
    isCausal: false,
    isNormalised: false,
  };
  const edge = draft.scores(scores, [q.heads, T, T]);
  return { edge, view: { dims: [...scoreLead(q.lead, T), places(T, T), places(T, 1)], offset: 0 } };
}

/** The softmax of scores over the keys. */
export function probabilities(node: OnnxNode, { edge, view, affine }: Value): Value {
  const scores = edge.scores!;
  const axis = axisOf(intOf(node, 'axis', -1), view.dims.length);
  if (axis !== view.dims.length - 1 || scores.isNormalised || affine !== undefined)
    return cannot('a softmax that is not over the keys', instead);
  return { edge: { ...edge, scores: { ...scores, isNormalised: true } }, view };
}

function attended(draft: NetDraft, left: Value, right: Value): Value {
  const { q, k, heads, scale, isCausal, isNormalised } = left.edge.scores!;
  const v = headsOf(draft, right, false);
  const [T, C] = q.shape as [number, number];
  const view: View = { dims: [...scoreLead(v.lead, T), places(T, T), places(T, 1)], offset: 0 };
  if (
    !isNormalised ||
    left.affine !== undefined ||
    v.scale !== 1 ||
    heads !== v.heads ||
    String(v.edge.shape) !== String(q.shape) ||
    JSON.stringify(left.view) !== JSON.stringify(view)
  ) {
    cannot('a product of edges that is no attention', instead);
  }
  if (Math.abs(scale * Math.sqrt(C / heads) - 1) > 1e-3) cannot(`scores scaled by ${scale}`, `1/√${C / heads}`);
  const edge = draft.layer({ op: 'attention', members: { heads, causal: isCausal } }, q.shape, q, k, v.edge);
  return { edge, view: { dims: [...v.lead, places(T, C), places(C / heads, 1)], offset: 0 } };
}

/** MatMul of two edges. */
export const product: Rule = (_node, inputs, { draft }) => {
  const [left, right] = [edgeInput(inputs, 0), edgeInput(inputs, 1)];
  return [left.edge.scores === undefined ? scoresOf(draft, left, right) : attended(draft, left, right)];
};
