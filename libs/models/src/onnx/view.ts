/**
 * How an ONNX tensor lies on an edge: each of its axes is a product of strided axes of the edge's record, as in numpy. A
 * Reshape or Transpose changes the view and nothing else, so layouts (NCHW, heads, packed q, k, v) need no layers.
 */
import { cannot } from '../errors.js';
import { sizeOf, stridesOf } from './constant.js';

export interface Axis {
  /** From 2: an axis of size 1 stands nowhere. */
  readonly size: number;
  /** In elements of the record; `batchStride` for the axis of the batch. */
  readonly stride: number;
}

export const batchStride = -1;

export interface View {
  /** Outermost axis first, for every axis of the tensor. */
  readonly dims: readonly (readonly Axis[])[];
  readonly offset: number;
}

export const isBatch = ({ stride }: Axis): boolean => stride === batchStride;
const productOf = (axes: readonly Axis[]): number => axes.reduce((product, { size }) => product * size, 1);

/** Neighbours that are one run of the record become one axis. */
function joined(axes: readonly Axis[]): readonly Axis[] {
  const out: Axis[] = [];
  for (const axis of axes.filter(({ size }) => size > 1)) {
    const last = out.at(-1);
    if (last && !isBatch(last) && !isBatch(axis) && last.stride === axis.size * axis.stride) {
      out[out.length - 1] = { size: last.size * axis.size, stride: axis.stride };
    } else out.push(axis);
  }
  return out;
}

const viewOf = (dims: readonly (readonly Axis[])[], offset: number): View => ({ dims: dims.map(joined), offset });

/** Sizes of the tensor. */
export function dimsOf({ dims }: View): readonly number[] {
  return dims.map(productOf);
}

/** The tensor [batch, ...shape], or the record's axes in the order `order` after the batch. */
export function recordView(batch: number, shape: readonly number[], order = shape.map((_, k) => k)): View {
  const strides = stridesOf(shape);
  return viewOf(
    [[{ size: batch, stride: batchStride }], ...order.map((k) => [{ size: shape[k]!, stride: strides[k]! }])],
    0,
  );
}

export function transposedView({ dims, offset }: View, perm: readonly number[]): View {
  return viewOf(
    perm.map((axis) => dims[axis]!),
    offset,
  );
}

/** @throws NodeRefusal where an axis of the edge would be cut unevenly, or the batch would be */
export function reshapedView({ dims, offset }: View, sizes: readonly number[]): View {
  const queue = dims.flat();
  const grouped = sizes.map((size) => {
    const group: Axis[] = [];
    for (let need = size; need > 1;) {
      const head = queue.shift();
      if (head === undefined) return cannot('a shape of another size', 'a shape of as many elements');
      if (need % head.size === 0) {
        group.push(head);
        need /= head.size;
      } else if (head.size % need === 0 && !isBatch(head)) {
        const inner = head.size / need;
        group.push({ size: need, stride: head.stride * inner });
        queue.unshift({ size: inner, stride: head.stride });
        need = 1;
      } else
        cannot(
          `axes of sizes ${dims.map(productOf).join()} cut as ${sizes.join()}`,
          'a reshape that keeps records apart',
        );
    }
    return group;
  });
  if (queue.length > 0) cannot('a shape of another size', 'a shape of as many elements');
  return viewOf(grouped, offset);
}

/** Part of one axis of the tensor; with `count` 1 and `isDropped` the axis goes. */
export function slicedView(
  { dims, offset }: View,
  axis: number,
  start: number,
  count: number,
  isDropped: boolean,
): View {
  const axes = dims[axis]!;
  const size = productOf(axes);
  if (count < 1) cannot('an empty part', 'a part with elements');
  const rest = (part: readonly Axis[]): View['dims'] =>
    isDropped ? dims.toSpliced(axis, 1) : dims.toSpliced(axis, 1, part);
  if (count === size) return viewOf(rest(axes), offset);
  if (axes.some(isBatch)) cannot('a part of the batch', 'whole batches');
  if (count === 1) {
    let [left, at] = [start, offset];
    for (const { size: own, stride } of axes.toReversed()) {
      at += (left % own) * stride;
      left = Math.floor(left / own);
    }
    return viewOf(rest([]), at);
  }
  const [only, ...others] = axes;
  if (others.length > 0) cannot('a part of a joined axis', 'a part before the axes are joined');
  return viewOf(rest([{ size: count, stride: only!.stride }]), offset + start * only!.stride);
}

/** Place in the record of every element of the tensor, the batch's repetitions included. */
export function placesOf({ dims, offset }: View): Int32Array {
  const axes = dims.flat();
  const places = new Int32Array(productOf(axes));
  const counter = axes.map(() => 0);
  const steps = axes.map((axis) => (isBatch(axis) ? 0 : axis.stride));
  for (let [i, at] = [0, offset]; i < places.length; i++) {
    places[i] = at;
    for (let k = axes.length - 1; k >= 0; k--) {
      at += steps[k]!;
      if (++counter[k]! < axes[k]!.size) break;
      at -= counter[k]! * steps[k]!;
      counter[k] = 0;
    }
  }
  return places;
}

/** The view without the batch. */
export function withoutBatch({ dims, offset }: View): View {
  return viewOf(
    dims.map((axes) => axes.filter((axis) => !isBatch(axis))),
    offset,
  );
}

/** All axes of the record that the view has, outermost of the tensor first. */
export function recordAxes({ dims }: View): readonly Axis[] {
  return dims.flat().filter((axis) => !isBatch(axis));
}

export const isWhole = (view: View, shape: readonly number[]): boolean => productOf(recordAxes(view)) === sizeOf(shape);

/** Whether an axis of the tensor is exactly this axis of the record. */
export function isAxis(axes: readonly Axis[] | undefined, size: number, stride: number): boolean {
  if (axes === undefined) return false;
  return size === 1 ? axes.length === 0 : axes.length === 1 && axes[0]!.size === size && axes[0]!.stride === stride;
}

/** The view with each axis of the record put where `change` says. */
export function movedView({ dims }: View, change: (axis: Axis) => Axis): View {
  return viewOf(
    dims.map((axes) => axes.map((axis) => (isBatch(axis) ? axis : change(axis)))),
    0,
  );
}

export const hasRecordAxes = (axes: readonly Axis[]): boolean => axes.some((axis) => !isBatch(axis));
