/**
 * The first batching rounds without the whole of Ω (libs/zk/SPEC.md §8): rows of Ω are made twice, once for the products
 * of all rows that these rounds fold together, and once to be folded.
 */
import { extAt, extView } from '../commit/arrays.js';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { eqTable, type Point } from '../commit/field/multilinear.js';
import type { RoundValues } from './backend.js';
import type { Cells } from './cells.js';
import type { OmegaRows } from './omega-rows.js';

/** Entry (x, y): the sum over the other row variables and all columns of Ω(x, ·)·w(y, ·). */
type RowProducts = readonly (readonly Ext[])[];

/** Stored rows among those that share their last `low` index values, by their first variables. */
function storedRows(cells: Cells, vars: number, rest: number): [place: number, row: BaseArray][] {
  const low = 2 ** (cells.plan.rowVars - vars);
  return Array.from({ length: 2 ** vars }, (_, place) => [place, cells.row(place * low + rest)] as const).flatMap(
    ([place, row]): [number, BaseArray][] => (row ? [[place, row]] : []),
  );
}

export function rowProducts(cells: Cells, omega: OmegaRows, vars: number): RowProducts {
  const { backend, plan } = cells;
  const low = 2 ** (plan.rowVars - vars);
  const sums = Array.from({ length: 2 ** vars }, () => new Array<Ext>(2 ** vars).fill(F.ZERO));
  omega.each((row, weights) => {
    const stored = storedRows(cells, vars, row % low);
    if (stored.length === 0) return;
    const own = sums[Math.floor(row / low)]!;
    const values = backend.dots(
      stored.map(([, values]) => values),
      weights,
    );
    stored.forEach(([place], k) => (own[place] = F.add(own[place]!, extAt(values, k))));
  });
  return sums;
}

export function roundOfProducts(sums: RowProducts): RoundValues {
  const half = sums.length / 2;
  let [d, e] = [F.ZERO, F.ZERO];
  for (let x = 0; x < half; x++) {
    const [first, last] = [sums[x]![x]!, sums[x + half]![x + half]!];
    d = F.add(d, F.sub(last, first));
    e = F.add(e, F.sub(F.add(first, last), F.add(sums[x]![x + half]!, sums[x + half]![x]!)));
  }
  return { d, e };
}

export function foldProducts(sums: RowProducts, rho: Ext): RowProducts {
  const half = sums.length / 2;
  const between = (a: Ext, b: Ext): Ext => F.add(a, F.mul(rho, F.sub(b, a)));
  const rows = sums.map((row) => row.slice(0, half).map((value, y) => between(value, row[y + half]!)));
  return rows.slice(0, half).map((row, x) => row.map((value, y) => between(value, rows[x + half]![y]!)));
}

/** Ω and w with their first variables bound. */
export function foldedRows(cells: Cells, omega: OmegaRows, point: Point): { weights: ExtArray; values: ExtArray } {
  const { backend, plan } = cells;
  const [length, low] = [2 ** plan.profile.m, 2 ** (plan.rowVars - point.length)];
  const factors = eqTable(point);
  const [weights, values] = [backend.ext(low * length), backend.ext(low * length)];
  omega.each((row, own) =>
    backend.addScaled(extView(weights, (row % low) * length, length), own, factors[Math.floor(row / low)]!),
  );
  for (let rest = 0; rest < low; rest++) {
    const stored = storedRows(cells, point.length, rest);
    backend.combine(
      extView(values, rest * length, length),
      stored.map(([, row]) => row),
      stored.map(([place]) => factors[place]!),
      F.ZERO,
    );
  }
  return { weights, values };
}
