/** Nodes that only look at an edge in another way, or at a part of it. */
import { cannot } from '../errors.js';
import { axesOf, intOf, numbersOf } from './attributes.js';
import { axisOf, isConstant } from './constant.js';
import type { Value } from './draft.js';
import { permutationOf, shapeOf, sliceOf } from './rearrange.js';
import { constantInput, edgeInput, optionalConstant, type Rule } from './rule.js';
import { flattenedDims, reshapedDims, splitSizes, squeezedDims, unsqueezedDims } from './shapes.js';
import { dimsOf, reshapedView, slicedView, transposedView } from './view.js';

const reshaped = (value: Value, dims: readonly number[]): Value => ({ ...value, view: reshapedView(value.view, dims) });

const flatten: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const dims = dimsOf(x.view);
  const axis = intOf(node, 'axis', 1);
  return [reshaped(x, flattenedDims(dims, axis < 0 ? axis + dims.length : axis))];
};

const reshape: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const asked = numbersOf(constantInput(inputs, 1, 'shape'));
  return [reshaped(x, reshapedDims(dimsOf(x.view), asked, intOf(node, 'allowzero', 0) !== 0))];
};

const squeeze: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const dims = dimsOf(x.view);
  return [reshaped(x, squeezedDims(dims, axesOf(node, optionalConstant(inputs, 1, 'axes'), dims.length)))];
};

const unsqueeze: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const dims = dimsOf(x.view);
  const axes = optionalConstant(inputs, 1, 'axes');
  const count = axes?.values.length ?? node.attributes.get('axes')?.ints.length ?? 0;
  return [reshaped(x, unsqueezedDims(dims, axesOf(node, axes, dims.length + count) ?? []))];
};

const transpose: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  return [{ ...x, view: transposedView(x.view, permutationOf(node, x.view.dims.length)) }];
};

const expand: Rule = (_node, inputs) => {
  const x = edgeInput(inputs, 0);
  const asked = numbersOf(constantInput(inputs, 1, 'shape'));
  const dims = dimsOf(x.view);
  const lead = dims.length - asked.length;
  const isSame = lead >= 0 && asked.every((size, k) => size === 1 || size === dims[k + lead]);
  return isSame ? [x] : cannot('an Expand that repeats', 'no repetition');
};

const part = (x: Value, axis: number, start: number, count: number, isDropped = false): Value => ({
  ...x,
  view: slicedView(x.view, axis, start, count, isDropped),
});

const split: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const dims = dimsOf(x.view);
  const axis = axisOf(intOf(node, 'axis', 0), dims.length);
  const given = optionalConstant(inputs, 1, 'split');
  let start = 0;
  return splitSizes(dims[axis]!, given && numbersOf(given), node.outputs.length).map((size) => {
    start += size;
    return part(x, axis, start - size, size);
  });
};

const slice: Rule = (_node, inputs) => {
  const x = edgeInput(inputs, 0);
  const bounds = inputs.map((input) => (input !== undefined && isConstant(input) ? input : undefined));
  const ranges = sliceOf(dimsOf(x.view), bounds);
  return [
    ranges.reduce((value, range, axis) => {
      if (range === undefined) return value;
      if (range.step !== 1) cannot(`a Slice in steps of ${range.step}`, 'a Slice of neighbours');
      return part(value, axis, range.start, range.count);
    }, x),
  ];
};

/** A Gather of constant places: one place drops the axis. */
const select: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const indices = constantInput(inputs, 1, 'index');
  const dims = dimsOf(x.view);
  const axis = axisOf(intOf(node, 'axis', 0), dims.length);
  const at = numbersOf(indices).map((index) => (index < 0 ? index + dims[axis]! : index));
  const isRun = at.every((index, i) => index === at[0]! + i && index >= 0 && index < dims[axis]!);
  if (!isRun || indices.dims.length > 1) return cannot('a Gather of places that are no run', 'a Slice');
  return [part(x, axis, at[0]!, at.length, indices.dims.length === 0)];
};

const shape: Rule = (node, inputs) => [shapeOf(node, dimsOf(edgeInput(inputs, 0).view))];

/** Exporters write a padding by nothing before an average. */
const pad: Rule = (_node, inputs) => {
  const isNothing = constantInput(inputs, 1, 'padding').values.every((side) => side === 0);
  return isNothing ? [edgeInput(inputs, 0)] : cannot('padding by itself', 'pads of the convolution after it');
};

const same: Rule = (_node, inputs) => [edgeInput(inputs, 0)];

/** A Cast of an edge changes its type; values stay as long as they stay numbers. */
const cast: Rule = (node, inputs) => {
  const x = edgeInput(inputs, 0);
  const to = intOf(node, 'to', 0);
  if (![1, 10, 11, 16].includes(to) && !x.edge.isTokens) cannot('a Cast of an edge to integers', 'floats');
  return [x];
};

export const viewRules: Readonly<Record<string, Rule>> = {
  Cast: cast,
  Expand: expand,
  Flatten: flatten,
  Identity: same,
  Pad: pad,
  Reshape: reshape,
  Shape: shape,
  Slice: slice,
  Split: split,
  Squeeze: squeeze,
  Transpose: transpose,
  Unsqueeze: unsqueeze,
};

export const selectRule = select;
