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

/** For strides of 1. */
export function emitFromColumns(f: FloatGraph, columns: string, { H, W, C, out, k, top, left }: Convolution): string {
  const spread = (x: string, axis: 1 | 2, width: number, before: number, size: number) => {
    const [taps, places] = [k[axis - 1]!, out[axis - 1]!];
    const length = Math.max(before + size, places + taps - 1);
    const parts = Array.from({ length: taps }, (_, at) => {
      const ends = [0, 0, 0, 0].map((_, i) => (i === axis ? length - places - at : 0));
      const begins = [0, 0, 0, 0].map((_, i) => (i === axis ? at : 0));
      return f.node('Pad', [f.slice(x, 3, at * width, (at + 1) * width), f.graph.axes(...begins, ...ends)]);
    });
    return f.slice(f.node('Sum', parts), axis, before, before + size);
  };
  const rows = spread(f.reshape(columns, [-1, out[0]!, out[1]!, k[0]! * k[1]! * C]), 1, k[1]! * C, top, H);
  return spread(rows, 2, C, left, W);
}
