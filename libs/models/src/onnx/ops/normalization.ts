/** Norms over the channels, and batch norm with fixed statistics, which is a scale and a shift. */
import { cannot } from '../../errors.js';
import { affineOf } from '../affine.js';
import { floatOf, intOf } from '../attributes.js';
import { axisOf, type Constant } from '../constant.js';
import { channelsOf, isLastAxis, type LayerDraft, type NetDraft, type Value } from '../draft.js';
import { constantInput, edgeInput, optionalConstant, type Rule, type Scene } from '../rule.js';
import { dimsOf } from '../view.js';

export type NormKind = 'layernorm' | 'rmsnorm';

/** `eps` as libs/step counts it: at fraction 2·(a + 4). */
function members(eps: number, a: number): { readonly eps?: number } {
  const counted = (value: number): number => Math.max(1, Math.round(value * 4 ** (a + 4)));
  if (!(eps >= 0) || counted(eps) > 2 ** 40) cannot(`an epsilon of ${eps}`, 'a small one');
  return counted(eps) === counted(1e-5) ? {} : { eps: counted(eps) };
}

function normDraft(
  op: NormKind,
  eps: number,
  a: number,
  gain: Float64Array,
  beta: Float64Array | undefined,
): LayerDraft {
  const dims = [gain.length];
  return {
    op,
    members: members(eps, a),
    W: { dims, values: gain },
    ...(op === 'layernorm' && { b: { dims, values: beta ?? new Float64Array(gain.length) } }),
    scaled(scale, shift) {
      if (op === 'rmsnorm' && shift.some((value) => value !== 0)) return undefined;
      const moved = (beta ?? new Float64Array(gain.length)).map((value, i) => value * scale[i]! + shift[i]!);
      return normDraft(
        op,
        eps,
        a,
        gain.map((value, i) => value * scale[i]!),
        op === 'layernorm' ? moved : undefined,
      );
    },
  };
}

/** The norm of a value over its channels. @param beta of layernorm alone */
export function normOf(
  draft: NetDraft,
  op: NormKind,
  given: Value,
  eps: number,
  a: number,
  gain: Float64Array,
  beta?: Float64Array,
): Value {
  const { edge, view } = draft.whole(draft.settled(given));
  return { edge: draft.layer(normDraft(op, eps, a, gain, beta), edge.shape, edge), view };
}

function norm(op: NormKind): Rule {
  return (node, inputs, { draft, a }: Scene) => {
    const x = edgeInput(inputs, 0);
    const whole = draft.whole(draft.settled(x));
    const axis = axisOf(intOf(node, 'axis', -1), x.view.dims.length);
    if (!isLastAxis(whole, axis)) cannot(`a norm from axis ${axis}`, 'a norm over the channels, which come last');
    const gain = constantInput(inputs, 1, 'scale');
    const beta = optionalConstant(inputs, 2, 'bias');
    const width = channelsOf(whole.edge);
    if ([gain, beta].some((values) => values !== undefined && values.values.length !== width))
      cannot('a scale of another size', 'one a channel');
    if (op === 'rmsnorm' && beta !== undefined) cannot('a bias', 'a norm without mean has none');
    return [normOf(draft, op, whole, floatOf(node, 'epsilon', 1e-5), a, gain.values, beta?.values)];
  };
}

const batchNorm: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  if (intOf(node, 'training_mode', 0) !== 0) cannot('batch statistics of training', 'an export in evaluation mode');
  const [gain, beta, mean, variance] = ['scale', 'bias', 'mean', 'variance'].map(
    (what, k) => constantInput(inputs, k + 1, what).values,
  ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const dims = dimsOf(x.view);
  const size = dims[1];
  if ([gain, beta, mean, variance].some((values) => values.length !== size))
    cannot('statistics of another size', 'one a channel');
  const eps = floatOf(node, 'epsilon', 1e-5);
  const scale = gain.map((value, i) => value / Math.sqrt(variance[i]! + eps));
  const byChannel = (values: Float64Array): Constant => ({
    kind: 'float',
    dims: dims.slice(1).map((_, k) => (k === 0 ? size! : 1)),
    values,
  });
  return [affineOf(x, byChannel(scale), byChannel(beta.map((value, i) => value - mean[i]! * scale[i]!)))];
};

export const normRules: Readonly<Record<string, Rule>> = {
  BatchNormalization: batchNorm,
  LayerNormalization: norm('layernorm'),
  RMSNormalization: norm('rmsnorm'),
  SimplifiedLayerNormalization: norm('rmsnorm'),
};
