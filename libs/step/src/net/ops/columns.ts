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

/** `col` as [batch, py, px, …] in two stages: over kx, then over ky. @param as what of the padded input lies in it */
export function emitColumns(
  e: NetEmitter,
  x: string,
  convolution: Convolution,
  as: (padded: string) => string = (maps) => maps,
): string {
  const [rows, columns] = axesOf(convolution);
  return gathered(e, gathered(e, as(padded(e, x, [rows, columns])), columns), rows);
}

/** The same of maps of one channel, places of the kernel first and turned in the end: whole rows are copied. */
export function emitFlatColumns(e: NetEmitter, x: string, convolution: Convolution): string {
  const axes = axesOf(convolution);
  const [rows, columns] = axes;
  const maps = padded(e, x, axes);
  const shape = [-1, 1, rows.before + rows.size + behind(rows), columns.out];
  const parts = taken(e, maps, columns).map((part) => e.reshape(part, shape));
  const places = e.concat(taken(e, e.concat(parts, 1), { ...rows, axis: 2 }), 1);
  return e.transpose(e.reshape(places, [-1, rows.k * columns.k, rows.out * columns.out]), [0, 2, 1]);
}

/** Elements that an axis of the padded input must have. */
function reachOf({ out, k, stride }: Axis): number {
  return (out - 1) * stride + k;
}

/** Padding behind. */
function behind(one: Axis): number {
  return Math.max(0, reachOf(one) - one.before - one.size);
}

function padded(e: NetEmitter, x: string, axes: readonly Axis[]): string {
  const before = axes.map((one) => one.before);
  const after = axes.map(behind);
  if ([...before, ...after].every((size) => size === 0)) return x;
  return e.node('Pad', [x, e.graph.axes(0, ...before, 0, 0, ...after, 0)]);
}

function gathered(e: NetEmitter, x: string, axis: Axis): string {
  return e.concat(taken(e, x, axis), 3);
}

/** By place of the kernel what of x lies under it. */
function taken(e: NetEmitter, x: string, { axis, out, k, stride }: Axis): readonly string[] {
  return Array.from({ length: k }, (_, at) => e.slice(x, axis, at, at + (out - 1) * stride + 1, stride));
}

/**
 * The errors `G` [batch, py, px, out] times Wcᵀ, summed for each pixel: [batch, H, W, C]. The copies of G that lie under the
 * kernel's rows stand side by side, so that one product sums over ky too; then its parts are added over kx.
 *
 * @param Wc [k0·k1·C, out]
 */
export function emitPixelErrors(e: NetEmitter, G: string, Wc: string, convolution: Convolution): string {
  const [rows, columns] = axesOf(convolution);
  const { C, out, k } = convolution;
  const [width, outputs] = [k[1]! * C, out[2]!];
  const parts = Array.from({ length: k[0]! }, (_, at) => shifted(e, G, rows, at, { width: outputs, other: out[1]! }));
  const beside = inner(e, e.concat(parts, 3), rows);
  const kernel = e.reshape(e.transpose(e.reshape(Wc, [k[0]!, width, outputs]), [0, 2, 1]), [k[0]! * outputs, width]);
  const product = e.node('Gemm', [e.rows(beside, k[0]! * outputs), kernel]);
  const errors = e.reshape(product, [-1, rows.size, out[1]!, width]);
  const taps = Array.from({ length: k[1]! }, (_, at) => {
    const tap = k[1] === 1 ? errors : e.slice(errors, 3, at * C, (at + 1) * C);
    return shifted(e, tap, columns, at, { width: C, other: rows.size });
  });
  return inner(e, taps.length === 1 ? taps[0]! : e.node('Sum', taps), columns);
}

/** What is no padding. */
function inner(e: NetEmitter, x: string, { axis, size, before, out, k, stride }: Axis): string {
  const isWhole = before === 0 && out * stride + k - 1 <= size;
  return isWhole ? x : e.slice(x, axis, before, before + size);
}

interface Beside {
  /** Of the last axis. */
  readonly width: number;
  /** Size of the axis beside the one that is moved along. */
  readonly other: number;
}

/** x with `at` places of 0 before it on the axis, and as many behind it as the axis has. */
function shifted(e: NetEmitter, x: string, one: Axis, at: number, beside: Beside): string {
  const { axis, size, out, k, stride, before } = one;
  const dilated = out * stride;
  const length = Math.max(before + size, dilated + k - 1);
  const ends = onAxis(axis, length - dilated - at);
  return e.node('Pad', [withGaps(e, x, one, beside), e.graph.axes(...onAxis(axis, at), ...ends)]);
}

/** stride − 1 zeros behind every element of the axis. */
function withGaps(e: NetEmitter, x: string, { axis, out, stride }: Axis, { width, other }: Beside): string {
  if (stride === 1) return x;
  const split = axis === 1 ? [-1, out, 1, other, width] : [-1, other, out, 1, width];
  const gap = Array.from({ length: 10 }, (_, i) => (i === 5 + axis + 1 ? stride - 1 : 0));
  const wide = e.node('Pad', [e.reshape(x, split), e.graph.axes(...gap)]);
  return e.reshape(wide, axis === 1 ? [-1, out * stride, other, width] : [-1, other, out * stride, width]);
}

function onAxis(axis: 1 | 2, size: number): number[] {
  return [0, 0, 0, 0].map((_, i) => (i === axis ? size : 0));
}
