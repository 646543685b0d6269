/** Tensors of mathematical integers: what the reference of `fxt/2` computes with (libs/step/SPEC.md §2). */
import { roundShift } from '../integers.js';
import { sizeOf } from '../tensors.js';

export interface IntTensor {
  readonly dims: readonly number[];
  /** Row-major. */
  readonly data: readonly bigint[];
}

export function mapTensor(x: IntTensor, f: (value: bigint, index: number) => bigint): IntTensor {
  return { dims: x.dims, data: x.data.map(f) };
}

/** @param at value at a row-major index */
export function tensorOf(dims: readonly number[], at: (index: number) => bigint): IntTensor {
  return { dims, data: Array.from({ length: sizeOf(dims) }, (_, index) => at(index)) };
}

/** `RS` of every element. */
export function roundTensor(x: IntTensor, s: number): IntTensor {
  return mapTensor(x, (value) => roundShift(value, s));
}

/** A tensor as rows: all axes but the last, and the last. */
export function rowsOf({ dims, data }: IntTensor): { readonly rows: number; readonly width: number } {
  const width = dims.at(-1)!;
  return { rows: data.length / width, width };
}

/** left [n, k] · right [k, m], row-major; exact. */
export function product(
  left: readonly bigint[],
  right: readonly bigint[],
  [n, k, m]: readonly [number, number, number],
): bigint[] {
  const out = new Array<bigint>(n * m).fill(0n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < k; j++) {
      const x = left[i * k + j]!;
      if (x === 0n) continue;
      for (let c = 0; c < m; c++) out[i * m + c]! += x * right[j * m + c]!;
    }
  }
  return out;
}

/** [n, m] to [m, n]. */
export function transposed(x: readonly bigint[], n: number, m: number): bigint[] {
  const out = new Array<bigint>(n * m);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) out[j * n + i] = x[i * m + j]!;
  return out;
}

/** Sum over the rows of [rows, width]. */
export function columnSums(x: readonly bigint[], width: number): bigint[] {
  const out = new Array<bigint>(width).fill(0n);
  x.forEach((value, i) => (out[i % width]! += value));
  return out;
}
