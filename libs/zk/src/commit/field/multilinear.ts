/** Multilinear helpers. The most significant bit of an index is variable 0 (libs/zk/SPEC.md §1). */
import * as F from './extension.js';
import type { Ext } from './extension.js';
import * as base from './goldilocks.js';

export type Point = readonly Ext[];

/** The last `count` coordinates (libs/zk/SPEC.md §1, `suf`). */
export function suffix(point: Point, count: number): Point {
  return point.slice(point.length - count);
}

/** eq(a, b) = Π (1 − a_k − b_k + 2·a_k·b_k) for points of equal length. */
export function eq(a: Point, b: Point): Ext {
  let result = F.ONE;
  for (let k = 0; k < a.length; k++) {
    const product = F.mul(a[k]!, b[k]!);
    const factor = F.add(F.sub(F.sub(F.ONE, a[k]!), b[k]!), F.add(product, product));
    result = F.mul(result, factor);
  }
  return result;
}

/** eq(point, bits of index): the weight of one corner of the cube. */
export function eqIndex(point: Point, index: number): Ext {
  let result = F.ONE;
  for (let k = 0; k < point.length; k++) {
    const bit = Math.floor(index / 2 ** (point.length - 1 - k)) % 2;
    result = F.mul(result, bit === 1 ? point[k]! : F.sub(F.ONE, point[k]!));
  }
  return result;
}

/** eq(point, ·) on all 2^n corners, in index order; n multiplications per two entries. */
export function eqTable(point: Point): Ext[] {
  let table: Ext[] = [F.ONE];
  for (const coordinate of point) {
    const next = new Array<Ext>(2 * table.length);
    for (let i = 0; i < table.length; i++) {
      const high = F.mul(table[i]!, coordinate);
      next[2 * i] = F.sub(table[i]!, high);
      next[2 * i + 1] = high;
    }
    table = next;
  }
  return table;
}

export { dot } from './extension.js';

/** Evaluation of the multilinear extension of `values` (length 2^n) at a point of n coordinates. */
export function evaluate(values: readonly Ext[], point: Point): Ext {
  let layer = values;
  for (const coordinate of point) {
    const half = layer.length / 2;
    const next = new Array<Ext>(half);
    for (let i = 0; i < half; i++) {
      next[i] = F.add(layer[i]!, F.mul(coordinate, F.sub(layer[i + half]!, layer[i]!)));
    }
    layer = next;
  }
  return layer[0]!;
}

/** y, y², y⁴ … y^{2^(count−1)} in the base field. */
export function squarings(y: bigint, count: number): bigint[] {
  const list = [y];
  while (list.length < count) list.push(base.mul(list.at(-1)!, list.at(-1)!));
  return list;
}

/** As `powerWeight` for a base element, given its squarings from y on, at least as many as coordinates. */
export function powerWeightBase(powers: readonly bigint[], point: Point): Ext {
  let result = F.ONE;
  for (let k = 0; k < point.length; k++) {
    const factor = base.sub(powers[point.length - 1 - k]!, 1n);
    result = F.mul(result, F.add(F.ONE, F.scale(point[k]!, factor)));
  }
  return result;
}

/** MLE of i ↦ y^i at a point: Π_k (1 + ρ_k·(y^{2^{n−1−k}} − 1)). */
export function powerWeight(y: Ext, point: Point): Ext {
  let result = F.ONE;
  let power = y;
  for (let k = point.length - 1; k >= 0; k--) {
    result = F.mul(result, F.add(F.ONE, F.mul(point[k]!, F.sub(power, F.ONE))));
    power = F.square(power);
  }
  return result;
}

/** The n bits of an index as a point. */
export function bitPoint(index: number, n: number): Point {
  return Array.from({ length: n }, (_, k) => (Math.floor(index / 2 ** (n - 1 - k)) % 2 === 1 ? F.ONE : F.ZERO));
}

export function halves(n: number): Point {
  return new Array<Ext>(n).fill(F.HALF);
}

/** The list 1, x, x², … of `count` powers. */
export function powers(x: Ext, count: number): Ext[] {
  const list: Ext[] = [];
  let power = F.ONE;
  for (let i = 0; i < count; i++) {
    list.push(power);
    power = F.mul(power, x);
  }
  return list;
}
