/** Reference of sums of products over tensors and columns. */
import * as F from '../../field/extension.js';
import type { Ext } from '../../field/extension.js';

/** out[o][x] = Σ_k v[k]·source[o][k][x] for a tensor [outer][middle][inner]. */
export function bind(source: readonly Ext[], outer: number, inner: number, v: readonly Ext[]): Ext[] {
  return Array.from({ length: outer * inner }, (_, i) => {
    const [o, x] = [Math.floor(i / inner), i % inner];
    return F.sum(v.map((weight, k) => F.mul(weight, source[(o * v.length + k) * inner + x]!)));
  });
}

/** out[x] = constant + Σ_k coefficients[k]·columns[k][x]. */
export function combine(columns: readonly (readonly bigint[])[], coefficients: readonly Ext[], constant: Ext): Ext[] {
  return columns[0]!.map((_, x) =>
    columns.reduce((total, column, k) => F.add(total, F.scale(coefficients[k]!, column[x]!)), constant),
  );
}
