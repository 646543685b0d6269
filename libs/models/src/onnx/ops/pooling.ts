/** Pools whose windows do not overlap, and means over the whole image or sequence. */
import { cannot } from '../../errors.js';
import { intOf, intsOf } from '../attributes.js';
import { isConstant } from '../constant.js';
import type { OnnxNode } from '../decode.js';
import type { Value } from '../draft.js';
import { edgeInput, type Rule, type Scene } from '../rule.js';
import { dimsOf, movedView, recordAxes, type View } from '../view.js';
import { imageOf, imageView, outputSides, windowOf } from './convolution.js';
import { reducedAxes } from './reductions.js';

function pool(op: 'maxpool' | 'avgpool', node: OnnxNode, given: Value, { draft }: Scene): Value {
  const { edge, view, sides } = imageOf(draft, draft.settled(given));
  const [H, W, C] = sides;
  const window = windowOf(node, intsOf(node, 'kernel_shape'), [H, W]);
  const { kernel, strides, pads } = window;
  if (String(strides) !== String(kernel))
    cannot(`a pool ${kernel.join('x')} in steps of ${strides.join('x')}`, 'a stride equal to the kernel');
  if (pads.some((pad) => pad !== 0)) cannot('a pool with padding', 'padding in the convolution before it');
  if (intOf(node, 'ceil_mode', 0) !== 0 && (H % kernel[0] !== 0 || W % kernel[1] !== 0))
    cannot('ceil_mode', 'sides that the kernel divides');
  if (node.outputs.length > 1) cannot('indices of the maxima', 'the maxima alone');
  const out = [...outputSides(window, [H, W]), C] as const;
  return { edge: draft.layer({ op, members: { k: kernel } }, out, edge), view: imageView(view.dims[0]!, out) };
}

/** A mean over all of the image, or over the sequence. */
function mean(node: OnnxNode, given: Value, axes: readonly number[], isKept: boolean, { draft }: Scene): Value {
  const { edge, view } = draft.whole(draft.settled(given));
  const { shape } = edge;
  const width = shape.at(-1)!;
  const reduced = recordAxes({ dims: axes.map((axis) => view.dims[axis]!), offset: 0 });
  const isRows =
    shape.length > 1 &&
    reduced.every(({ stride }) => stride >= width) &&
    reduced.reduce((product, { size }) => product * size, width) === shape.reduce((x, y) => x * y, 1);
  if (!isRows || axes.some((axis) => view.dims[axis]!.some(({ stride }) => stride < width))) {
    return cannot(`${node.op} over axes ${axes.join()}`, 'a mean over all places of an image or sequence');
  }
  const out =
    shape.length === 3
      ? draft.layer({ op: 'avgpool', members: { k: [shape[0]!, shape[1]!] } }, [1, 1, width], edge)
      : draft.layer({ op: 'meanpool', members: {} }, [width], edge);
  const rest = view.dims.flatMap((dim, k): View['dims'] => (axes.includes(k) ? (isKept ? [[]] : []) : [dim]));
  return { edge: out, view: movedView({ dims: rest, offset: 0 }, (axis) => axis) };
}

/** A reduction of an edge that is no part of a norm. */
export const reduceRule: Rule = (node, inputs, scene) => {
  const x = edgeInput(inputs, 0);
  const given = inputs[1] !== undefined && isConstant(inputs[1]) ? inputs[1] : undefined;
  const { axes, isKept } = reducedAxes(node, given, dimsOf(x.view).length);
  if (node.op !== 'ReduceMean' && node.op !== 'GlobalAveragePool')
    return cannot('no such reduction among the layers', 'a mean, or a maximum over windows');
  return [mean(node, x, axes, isKept, scene)];
};

export const poolRules: Readonly<Record<string, Rule>> = {
  AveragePool: (node, inputs, scene) => [pool('avgpool', node, edgeInput(inputs, 0), scene)],
  MaxPool: (node, inputs, scene) => [pool('maxpool', node, edgeInput(inputs, 0), scene)],
};
