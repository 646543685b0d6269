/** Values of nodes that move elements and change none: what exporters compute shapes and masks with. */
import { cannot } from '../errors.js';
import { axesOf, intOf, intsOf, numbersOf } from './attributes.js';
import { axisOf, checkedDims, scalarOf, sizeOf, stridesOf, type Constant } from './constant.js';
import type { OnnxNode } from './decode.js';
import { flattenedDims, reshapedDims, sliceRange, splitSizes, squeezedDims, unsqueezedDims } from './shapes.js';

type Inputs = readonly (Constant | undefined)[];
type Rule = (node: OnnxNode, x: Constant, inputs: Inputs) => readonly Constant[];

const ints = (dims: readonly number[], values: readonly number[]): Constant => ({
  kind: 'int',
  dims,
  values: Float64Array.from(values),
});

/** `from` says of each element, by its place, where in `x` it is. */
function picked(x: Constant, dims: readonly number[], from: (place: readonly number[]) => number): Constant {
  const values = new Float64Array(sizeOf(checkedDims(dims)));
  const place = dims.map(() => 0);
  for (let i = 0; i < values.length; i++) {
    values[i] = x.values[from(place)]!;
    for (let k = dims.length - 1; k >= 0; k--) {
      if (++place[k]! < dims[k]!) break;
      place[k] = 0;
    }
  }
  return { kind: x.kind, dims, values };
}

const dot = (place: readonly number[], strides: readonly number[]): number =>
  place.reduce((sum, at, k) => sum + at * strides[k]!, 0);

/** `perm` of a Transpose: by default the axes in reverse. */
export function permutationOf(node: OnnxNode, rank: number): readonly number[] {
  const perm = intsOf(node, 'perm') ?? Array.from({ length: rank }, (_, k) => rank - 1 - k);
  const isWhole = perm.length === rank && perm.every((axis) => axis >= 0 && axis < rank) && new Set(perm).size === rank;
  return isWhole ? perm : cannot(`a permutation ${perm.join()} of ${rank} axes`, 'each axis once');
}

export function transposed(x: Constant, perm: readonly number[]): Constant {
  const strides = stridesOf(x.dims);
  const own = perm.map((axis) => strides[axis]!);
  return picked(
    x,
    perm.map((axis) => x.dims[axis]!),
    (place) => dot(place, own),
  );
}

function gather(node: OnnxNode, x: Constant, indices: Constant): Constant {
  const axis = axisOf(intOf(node, 'axis', 0), x.dims.length);
  const size = x.dims[axis]!;
  const at = indices.values.map((index) => (index < 0 ? index + size : index));
  if (at.some((index) => !(index >= 0 && index < size))) cannot(`an index beyond ${size}`, 'indices that are there');
  const strides = stridesOf(x.dims);
  const own = stridesOf(indices.dims);
  const end = axis + indices.dims.length;
  const dims = [...x.dims.slice(0, axis), ...indices.dims, ...x.dims.slice(axis + 1)];
  return picked(x, dims, (place) => {
    const index = at[dot(place.slice(axis, end), own)]!;
    return dot(place.slice(0, axis), strides) + index * strides[axis]! + dot(place.slice(end), strides.slice(axis + 1));
  });
}

/** The part of `x` that begins at `starts` and goes in `steps`. */
function cut(x: Constant, dims: readonly number[], starts: readonly number[], steps: readonly number[]): Constant {
  const strides = stridesOf(x.dims);
  const moved = strides.map((stride, k) => stride * steps[k]!);
  const first = dot(starts, strides);
  return picked(x, dims, (place) => first + dot(place, moved));
}

/** Ranges of a Slice by axis; undefined for an axis that stays whole. */
export function sliceOf(
  dims: readonly number[],
  [, starts, ends, axes, steps]: Inputs,
): readonly ({ readonly start: number; readonly count: number; readonly step: number } | undefined)[] {
  if (starts === undefined || ends === undefined) return cannot('bounds that are not constant', 'constant bounds');
  const named =
    axes === undefined
      ? Array.from(starts.values, (_, k) => k)
      : numbersOf(axes).map((axis) => axisOf(axis, dims.length));
  return dims.map((size, k) => {
    const at = named.indexOf(k);
    if (at < 0) return undefined;
    const step = steps?.values[at] ?? 1;
    return { ...sliceRange(size, starts.values[at] ?? 0, ends.values[at] ?? size, step), step };
  });
}

function split(node: OnnxNode, x: Constant, given: Constant | undefined): readonly Constant[] {
  const axis = axisOf(intOf(node, 'axis', 0), x.dims.length);
  const sizes = splitSizes(x.dims[axis]!, given && numbersOf(given), node.outputs.length);
  let start = 0;
  return sizes.map((size) => {
    const part = cut(
      x,
      x.dims.map((whole, k) => (k === axis ? size : whole)),
      x.dims.map((_, k) => (k === axis ? start : 0)),
      x.dims.map(() => 1),
    );
    start += size;
    return part;
  });
}

function concat(node: OnnxNode, inputs: Inputs): Constant {
  const parts = inputs.filter((part) => part !== undefined);
  const [first] = parts;
  const axis = axisOf(intOf(node, 'axis', 0), first!.dims.length);
  const rest = (dims: readonly number[]): string => dims.filter((_, k) => k !== axis).join();
  if (parts.some(({ dims }) => dims.length !== first!.dims.length || rest(dims) !== rest(first!.dims))) {
    cannot('parts of other shapes', 'parts that go together');
  }
  const size = parts.reduce((sum, { dims }) => sum + dims[axis]!, 0);
  const dims = checkedDims(first!.dims.map((whole, k) => (k === axis ? size : whole)));
  const values = new Float64Array(sizeOf(dims));
  const [before, after] = [sizeOf(dims.slice(0, axis)), sizeOf(dims.slice(axis + 1))];
  let at = 0;
  for (let row = 0; row < before; row++) {
    for (const part of parts) {
      const run = part.dims[axis]! * after;
      values.set(part.values.subarray(row * run, (row + 1) * run), at);
      at += run;
    }
  }
  return { kind: first!.kind, dims, values };
}

function trilu(node: OnnxNode, x: Constant, given: Constant | undefined): Constant {
  const [rows, columns] = x.dims.slice(-2);
  if (columns === undefined) cannot('a Trilu of fewer than two axes', 'two axes');
  const k = given === undefined ? 0 : scalarOf(given, 'k');
  const isUpper = intOf(node, 'upper', 1) !== 0;
  const values = x.values.map((value, i) => {
    const [row, column] = [Math.floor(i / columns!) % rows!, i % columns!];
    return (isUpper ? column >= row + k : column <= row + k) ? value : 0;
  });
  return { ...x, values };
}

function range(start: Constant, limit: Constant | undefined, delta: Constant | undefined): Constant {
  const [from, to, step] = [start, limit!, delta!].map((value) => scalarOf(value, 'a bound')) as [
    number,
    number,
    number,
  ];
  const count = step === 0 ? 0 : Math.max(0, Math.ceil((to - from) / step));
  checkedDims([count]);
  return { kind: start.kind, dims: [count], values: Float64Array.from({ length: count }, (_, i) => from + i * step) };
}

function expand(x: Constant, shape: Constant): Constant {
  const asked = numbersOf(shape);
  const rank = Math.max(asked.length, x.dims.length);
  const own = [...new Array<number>(rank - x.dims.length).fill(1), ...x.dims];
  const dims = own.map((size, k) => (size === 1 ? (asked[k - rank + asked.length] ?? 1) : size));
  const strides = stridesOf(own).map((stride, k) => (own[k] === 1 ? 0 : stride));
  return picked(x, checkedDims(dims), (place) => dot(place, strides));
}

const reshaped = (x: Constant, dims: readonly number[]): Constant => ({ ...x, dims });

const rules: Readonly<Record<string, Rule>> = {
  Concat: (node, _, inputs) => [concat(node, inputs)],
  ConstantOfShape: (node, x) => {
    const dims = checkedDims(numbersOf(x));
    const of = node.attributes.get('value')?.tensor;
    return [{ kind: of?.kind ?? 'float', dims, values: new Float64Array(sizeOf(dims)).fill(of?.values[0] ?? 0) }];
  },
  Expand: (_, x, [, shape]) => [expand(x, shape!)],
  Flatten: (node, x) => [reshaped(x, flattenedDims(x.dims, intOf(node, 'axis', 1)))],
  Gather: (node, x, [, indices]) => [gather(node, x, indices!)],
  Range: (_, x, [, limit, delta]) => [range(x, limit, delta)],
  Reshape: (node, x, [, shape]) => [
    reshaped(x, reshapedDims(x.dims, numbersOf(shape!), intOf(node, 'allowzero', 0) !== 0)),
  ],
  Shape: (node, x) => [shapeOf(node, x.dims)],
  Size: (_, x) => [ints([], [x.values.length])],
  Slice: (_, x, inputs) => {
    const ranges = sliceOf(x.dims, inputs);
    return [
      cut(
        x,
        x.dims.map((size, k) => ranges[k]?.count ?? size),
        ranges.map((one) => one?.start ?? 0),
        ranges.map((one) => one?.step ?? 1),
      ),
    ];
  },
  Split: (node, x, [, given]) => split(node, x, given),
  Squeeze: (node, x, [, axes]) => [reshaped(x, squeezedDims(x.dims, axesOf(node, axes, x.dims.length)))],
  Transpose: (node, x) => [transposed(x, permutationOf(node, x.dims.length))],
  Trilu: (node, x, [, k]) => [trilu(node, x, k)],
  Unsqueeze: (node, x, [, axes]) => [
    reshaped(
      x,
      unsqueezedDims(
        x.dims,
        axesOf(node, axes, x.dims.length + (axes?.values.length ?? intsOf(node, 'axes')?.length ?? 0)) ?? [],
      ),
    ),
  ],
};

/** What a Shape node says of a tensor of these sizes. */
export function shapeOf(node: OnnxNode, dims: readonly number[]): Constant {
  const part = dims.slice(intOf(node, 'start', 0), node.attributes.get('end')?.int ?? dims.length);
  return ints([part.length], part);
}

const needed: Readonly<Record<string, number>> = { Expand: 2, Gather: 2, Range: 3, Reshape: 2, Slice: 3 };

/** @returns the values of the node's outputs, or undefined when it is no node that moves elements */
export function rearranged(node: OnnxNode, inputs: Inputs): readonly Constant[] | undefined {
  const [x] = inputs;
  const rule = Object.hasOwn(rules, node.op) ? rules[node.op]! : undefined;
  if (rule === undefined || x === undefined) return undefined;
  for (let k = 0; k < (needed[node.op] ?? 1); k++) if (inputs[k] === undefined) cannot(`no input ${k}`, 'all inputs');
  return rule(node, x, inputs);
}
