/** Rules of ONNX on shapes that constants and edges share. */
import { cannot } from '../errors.js';
import { checkedDims, sizeOf } from './constant.js';

/** Sizes that a Reshape asks for: 0 keeps, −1 takes what is left. */
export function reshapedDims(dims: readonly number[], asked: readonly number[], allowZero: boolean): readonly number[] {
  const sizes = asked.map((size, k) => (size === 0 && !allowZero ? (dims[k] ?? 0) : size));
  const known = sizes.filter((size) => size !== -1).reduce((product, size) => product * size, 1);
  const total = sizeOf(dims);
  const rest = known === 0 ? 0 : total / known;
  const full = sizes.map((size) => (size === -1 ? rest : size));
  if (sizes.filter((size) => size === -1).length > 1 || sizeOf(full) !== total) {
    cannot(`[${dims.join()}] as [${asked.join()}]`, 'a shape of as many elements');
  }
  return checkedDims(full);
}

export function flattenedDims(dims: readonly number[], axis: number): readonly number[] {
  return [sizeOf(dims.slice(0, axis)), sizeOf(dims.slice(axis))];
}

export function unsqueezedDims(dims: readonly number[], axes: readonly number[]): readonly number[] {
  const rest = dims.slice();
  return Array.from({ length: dims.length + axes.length }, (_, k) => (axes.includes(k) ? 1 : rest.shift()!));
}

/** Without the axes named, or without all of size 1. */
export function squeezedDims(dims: readonly number[], axes: readonly number[] | undefined): readonly number[] {
  for (const axis of axes ?? []) if (dims[axis] !== 1) cannot(`a Squeeze of size ${dims[axis]}`, 'an axis of size 1');
  return dims.filter((size, k) => (axes === undefined ? size !== 1 : !axes.includes(k)));
}

/** Where a Slice along one axis begins, how far it goes and in which steps. */
export function sliceRange(
  size: number,
  start: number,
  end: number,
  step: number,
): { readonly start: number; readonly count: number } {
  if (step === 0) cannot('a Slice of step 0', 'another step');
  const from = start < 0 ? start + size : start;
  const to = end < 0 ? end + size : end;
  const [low, high] = step > 0 ? [0, size] : [-1, size - 1];
  const first = Math.min(Math.max(from, step > 0 ? 0 : low), high);
  const last = Math.min(Math.max(to, low), step > 0 ? size : high);
  return { start: first, count: Math.max(0, Math.ceil((last - first) / step)) };
}

/** Sizes of the parts of a Split. */
export function splitSizes(size: number, given: readonly number[] | undefined, parts: number): readonly number[] {
  const each = Math.ceil(size / parts);
  const sizes = given ?? Array.from({ length: parts }, (_, k) => Math.max(0, Math.min(each, size - k * each)));
  if (sizes.length !== parts || sizes.reduce((sum, part) => sum + part, 0) !== size || sizes.some((part) => part < 0)) {
    cannot(`a Split of ${size} into ${sizes.join()}`, 'parts that add up');
  }
  return sizes;
}
