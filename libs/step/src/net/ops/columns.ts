/**
 * `col` of a convolution (libs/step/SPEC.md §22): a row for each output place, in it the padded input under the kernel,
 * `col[b, py, px, (ky·K1 + kx)·C + ch] = xpad[b, py·σ0 + ky, px·σ1 + kx, ch]`; and the sum of rows back into pixels.
 */
import type { NetEmitter } from '../emitter.js';
import type { IntTensor } from '../tensor.js';
import type { Maps } from './window.js';

export interface Convolution extends Maps {
  /** Height and width of the output, then what follows. */
  readonly out: readonly number[];
  readonly k: readonly number[];
  readonly stride: readonly number[];
  readonly top: number;
  readonly left: number;
}

/** Calls f with the places in `col` and in the input [batch, H, W, C] that are one; the padding is left out. */
function eachPair(
  { H, W, C, out, k, stride, top, left }: Convolution,
  batch: number,
  f: (col: number, x: number) => void,
) {
  const [h, w] = out as [number, number];
  let col = 0;
  for (let place = 0; place < batch * h * w; place++) {
    const [b, py, px] = [Math.floor(place / (h * w)), Math.floor(place / w) % h, place % w];
    for (let tap = 0; tap < k[0]! * k[1]!; tap++, col += C) {
      const y = py * stride[0]! + Math.floor(tap / k[1]!) - top;
      const x = px * stride[1]! + (tap % k[1]!) - left;
      if (y < 0 || y >= H || x < 0 || x >= W) continue;
      for (let c = 0; c < C; c++) f(col + c, ((b * H + y) * W + x) * C + c);
    }
  }
}

/** @param x [batch, H, W, C] */
export function toColumns(x: IntTensor, convolution: Convolution): bigint[] {
  const { C, out, k } = convolution;
  const batch = x.dims[0]!;
  const col = new Array<bigint>(batch * out[0]! * out[1]! * k[0]! * k[1]! * C).fill(0n);
  eachPair(convolution, batch, (at, from) => (col[at] = x.data[from]!));
  return col;
}

/** Sums over all entries of each pixel, [batch, H, W, C]. */
export function fromColumns(col: readonly bigint[], batch: number, convolution: Convolution): bigint[] {
  const { H, W, C } = convolution;
  const sums = new Array<bigint>(batch * H * W * C).fill(0n);
  eachPair(convolution, batch, (from, at) => (sums[at]! += col[from]!));
  return sums;
}

/** One axis of a convolution. */
interface Axis {
  /** Of the tensor [batch, rows, columns, channels]. */
  readonly axis: 1 | 2;
  /** Size of the input, of the output, of the kernel. */
  readonly size: number;
  readonly out: number;
  readonly k: number;
  readonly stride: number;
  /** Padding before. */
  readonly before: number;
}

function axesOf({ H, W, out, k, stride, top, left }: Convolution): readonly [Axis, Axis] {
  return [
    { axis: 1, size: H, out: out[0]!, k: k[0]!, stride: stride[0]!, before: top },
    { axis: 2, size: W, out: out[1]!, k: k[1]!, stride: stride[1]!, before: left },
  ];
}

/** `col` as [batch, py, px, …] in two stages: over kx, then over ky. */
export function emitColumns(e: NetEmitter, x: string, convolution: Convolution): string {
  const [rows, columns] = axesOf(convolution);
  return gathered(e, gathered(e, padded(e, x, [rows, columns]), columns), rows);
}

/** Elements that an axis of the padded input must have. */
function reachOf({ out, k, stride }: Axis): number {
  return (out - 1) * stride + k;
}

function padded(e: NetEmitter, x: string, axes: readonly Axis[]): string {
  const before = axes.map((one) => one.before);
  const after = axes.map((one) => Math.max(0, reachOf(one) - one.before - one.size));
  if ([...before, ...after].every((size) => size === 0)) return x;
  return e.node('Pad', [x, e.graph.axes(0, ...before, 0, 0, ...after, 0)]);
}

function gathered(e: NetEmitter, x: string, { axis, out, k, stride }: Axis): string {
  const parts = Array.from({ length: k }, (_, at) => e.slice(x, axis, at, at + (out - 1) * stride + 1, stride));
  return e.concat(parts, 3);
}

/** Sums over all entries of each pixel, [batch, H, W, C], in two stages: over ky, then over kx. */
export function emitFromColumns(e: NetEmitter, col: string, convolution: Convolution): string {
  const [rows, columns] = axesOf(convolution);
  const { C, out, k } = convolution;
  const width = k[1]! * C;
  const first = spread(e, e.reshape(col, [-1, out[0]!, out[1]!, k[0]! * width]), rows, width, out[1]!);
  return spread(e, first, columns, C, rows.size);
}

/** Adds the k parts of the last axis into the axis, each one place further. @param other size of the axis beside it */
function spread(e: NetEmitter, x: string, one: Axis, width: number, other: number): string {
  const { axis, size, out, k, stride, before } = one;
  const dilated = out * stride;
  const length = Math.max(before + size, dilated + k - 1);
  const parts = Array.from({ length: k }, (_, at) => {
    const part = k === 1 ? x : e.slice(x, 3, at * width, (at + 1) * width);
    const begins = onAxis(axis, at);
    const ends = onAxis(axis, length - dilated - at);
    return e.node('Pad', [withGaps(e, part, one, width, other), e.graph.axes(...begins, ...ends)]);
  });
  const sum = parts.length === 1 ? parts[0]! : e.node('Sum', parts);
  return e.slice(sum, axis, before, before + size);
}

/** stride − 1 zeros behind every element of the axis. */
function withGaps(e: NetEmitter, x: string, { axis, out, stride }: Axis, width: number, other: number): string {
  if (stride === 1) return x;
  const split = axis === 1 ? [-1, out, 1, other, width] : [-1, other, out, 1, width];
  const gap = Array.from({ length: 10 }, (_, i) => (i === 5 + axis + 1 ? stride - 1 : 0));
  const wide = e.node('Pad', [e.reshape(x, split), e.graph.axes(...gap)]);
  return e.reshape(wide, axis === 1 ? [-1, out * stride, other, width] : [-1, other, out * stride, width]);
}

function onAxis(axis: 1 | 2, size: number): number[] {
  return [0, 0, 0, 0].map((_, i) => (i === axis ? size : 0));
}
