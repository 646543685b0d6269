/** Multilinear extensions of the three public tables, evaluated without writing them out (libs/zk/SPEC.md §7 F2). */
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { eqTable, type Point } from '../commit/field/multilinear.js';

/** Σ 2^k·z_k: the MLE of the index. */
export function indexAt(point: Point): Ext {
  let value = F.ZERO;
  for (const coordinate of point) value = F.add(F.add(value, value), coordinate);
  return value;
}

/**
 * MLEs of A = clamp(y, 0, 2^abits − 1) and of M = [0 < y < 2^abits − 1] over y = index − 2^15.
 * @param point 16 coordinates
 */
export function activationAt(point: Point, abits: number): { readonly A: Ext; readonly M: Ext } {
  const isPositive = point[0]!;
  const low = point.slice(16 - abits);
  const complement = (z: Ext): Ext => F.sub(F.ONE, z);
  let window = isPositive;
  for (let k = 1; k < 16 - abits; k++) window = F.mul(window, complement(point[k]!));
  const largest = F.fromInteger(2 ** abits - 1);
  const A = F.add(F.mul(window, indexAt(low)), F.mul(F.sub(isPositive, window), largest));
  const isLowest = low.map(complement).reduce(F.mul, F.ONE);
  const isHighest = low.reduce(F.mul, F.ONE);
  return { A, M: F.mul(window, F.sub(F.sub(F.ONE, isLowest), isHighest)) };
}

/** MLE of a table of 2^x small integers. */
export function valuesAt(values: readonly number[], point: Point): Ext {
  const weights = eqTable(point);
  let total = F.ZERO;
  values.forEach((value, i) => {
    if (value !== 0) total = F.add(total, F.scale(weights[i]!, BigInt(value)));
  });
  return total;
}
