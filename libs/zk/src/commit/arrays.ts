/** Small helpers around the arrays of backend.ts. */
import type { BaseArray, ExtArray } from './backend.js';
import type { Ext } from './field/extension.js';
import { P } from './field/goldilocks.js';

/** Canonical field element of an exact integer in a float64. */
export function toField(value: number): bigint {
  return value < 0 ? P - BigInt(-value) : BigInt(value);
}

export function extArray(values: readonly Ext[]): ExtArray {
  const out = new BigUint64Array(2 * values.length);
  values.forEach((value, i) => setExt(out, i, value));
  return out;
}

/** Base elements as extension elements. */
export function embed(base: BaseArray): ExtArray {
  const out = new BigUint64Array(2 * base.length);
  for (let i = 0; i < base.length; i++) out[2 * i] = base[i]!;
  return out;
}

export function extAt(array: ExtArray, index: number): Ext {
  return { c0: array[2 * index]!, c1: array[2 * index + 1]! };
}

export function extList(array: ExtArray): Ext[] {
  return Array.from({ length: array.length / 2 }, (_, i) => extAt(array, i));
}

export function setExt(array: ExtArray, index: number, value: Ext): void {
  array[2 * index] = value.c0;
  array[2 * index + 1] = value.c1;
}

/** Elements [start, start + count) of an extension array, as a view. */
export function extView(array: ExtArray, start: number, count: number): ExtArray {
  return array.subarray(2 * start, 2 * (start + count));
}

/** The halves of an extension array, as views. */
export function halvesOf(array: ExtArray): [ExtArray, ExtArray] {
  return [array.subarray(0, array.length / 2), array.subarray(array.length / 2)];
}
