/** A table of 65,536 entries in a graph, cut to where it bends (libs/step/SPEC.md §26): both tails become arithmetic. */
import type { NetEmitter } from '../emitter.js';
import { indexMax } from './curves.js';

/** T[x] = middle[clamp(x, low, high) − low] + tail, tail = rise·RS-down of what x lies beyond `high`. */
export interface CutTable {
  readonly low: number;
  readonly high: number;
  readonly middle: Float64Array;
}

/**
 * @param shift of a table that rises to its right by 2^-shift for each 1, halves rounded down; absent where it ends flat
 * @returns the shortest middle with which every entry comes out the same
 */
export function cutTable(table: Float64Array, shift?: number): CutTable {
  let low = 0;
  while (low < indexMax && table[low + 1] === table[0]) low++;
  // A tail that rises by whole numbers starts at a multiple of 2^shift.
  const stride = 2 ** Math.max(0, shift ?? 0);
  let high = table.length - stride;
  while (high > indexMax && isTail(table, high - stride, stride, shift)) high -= stride;
  if (!isTail(table, high, table.length - 1 - high, shift)) high = table.length - 1;
  return { low: low - indexMax, high: high - indexMax, middle: table.slice(low, high + 1) };
}

/** Whether the `count` entries behind `from` follow from it. */
function isTail(table: Float64Array, from: number, count: number, shift: number | undefined): boolean {
  for (let i = 0; i <= count; i++) {
    const rise = shift === undefined ? 0 : roundedDown(i, shift);
    if (table[from + i] !== undefined && table[from + i] !== table[from]! + rise) return false;
  }
  return true;
}

/** x·2^-shift to the nearest whole number, halves down. */
function roundedDown(x: number, shift: number): number {
  return Math.ceil(x * 2 ** -shift - (shift > 0 ? 0.5 : 0));
}

/** @param x whole numbers of 16 bits @returns T[x] */
export function emitTable(e: NetEmitter, table: Float64Array, x: string, shift?: number): string {
  const { low, high, middle } = cutTable(table, shift);
  const inside = e.lookUp(middle, e.sub(e.clamp(x, low, high), e.scalar(low)));
  if (shift === undefined) return inside;
  // −RS(−y) rounds halves down.
  const beyond = e.node('Min', [e.sub(e.scalar(high), x), e.scalar(0)]);
  return e.sub(inside, e.round(beyond, shift));
}
