/** A convolution's columns in float32: a row for each output place, gathered over kx and then over ky, and the way back. */
import type { FloatGraph } from './float-graph.js';

export interface Convolution {
  readonly H: number;
  readonly W: number;
  readonly C: number;
  /** Height and width of the output, then what follows. */
  readonly out: readonly number[];
  readonly k: readonly number[];
  readonly stride: readonly number[];
  readonly top: number;
  readonly left: number;
}

export function emitColumns(f: FloatGraph, x: string, { H, W, out, k, stride, top, left }: Convolution): string {
  const reach = [0, 1].map((i) => (out[i]! - 1) * stride[i]! + k[i]!);
  const after = [Math.max(0, reach[0]! - top - H), Math.max(0, reach[1]! - left - W)];
  const isPadded = [top, left, ...after].some((size) => size > 0);
  const padded = isPadded ? f.node('Pad', [x, f.graph.axes(0, top, left, 0, 0, ...after, 0)]) : x;
  const gathered = (from: string, axis: 1 | 2) => {
    const [size, step] = [out[axis - 1]!, stride[axis - 1]!];
    const parts = Array.from({ length: k[axis - 1]! }, (_, at) =>
      f.slice(from, axis, at, at + (size - 1) * step + 1, step),
    );
    return f.concat(parts, 3);
  };
  return gathered(gathered(padded, 2), 1);
}

/**
 * The errors `G` [batch, h, w, out] times Wᵀ, summed for each pixel, for strides of 1: copies of G that lie under the
 * kernel's rows stand side by side, so that one product sums over ky, as the exact graph has it.
 */
export function emitPixelErrors(
  f: FloatGraph,
  G: string,
  W: string,
  { H, W: wide, C, out, k, top, left }: Convolution,
): string {
  const [outputs, width] = [out[2]!, k[1]! * C];
  const moved = (x: string, axis: 1 | 2, before: number, size: number) => {
    const [taps, places] = [k[axis - 1]!, out[axis - 1]!];
    const length = Math.max(before + size, places + taps - 1);
    return (at: number) => {
      const begins = [0, 0, 0, 0].map((_, i) => (i === axis ? at : 0));
      const ends = [0, 0, 0, 0].map((_, i) => (i === axis ? length - places - at : 0));
      return f.node('Pad', [x, f.graph.axes(...begins, ...ends)]);
    };
  };
  const inner = (x: string, axis: 1 | 2, before: number, size: number) => {
    const isWhole = before === 0 && out[axis - 1]! + k[axis - 1]! - 1 <= size;
    return isWhole ? x : f.slice(x, axis, before, before + size);
  };
  const rows = Array.from({ length: k[0]! }, (_, at) => moved(G, 1, top, H)(at));
  const beside = inner(f.concat(rows, 3), 1, top, H);
  const kernel = f.reshape(f.transpose(f.reshape(W, [k[0]!, width, outputs]), [0, 2, 1]), [k[0]! * outputs, width]);
  const product = f.node('Gemm', [f.rows(beside, k[0]! * outputs), kernel]);
  const errors = f.reshape(product, [-1, H, out[1]!, width]);
  const taps = Array.from({ length: k[1]! }, (_, at) =>
    moved(f.slice(errors, 3, at * C, (at + 1) * C), 2, left, wide)(at),
  );
  return inner(f.node('Sum', taps), 2, left, wide);
}
