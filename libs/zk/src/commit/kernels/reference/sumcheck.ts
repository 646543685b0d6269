/** Reference of the sumcheck and fraction kernels, straight from the definitions (libs/zk/SPEC.md §6, §7 F1). */
import * as F from '../../field/extension.js';
import type { Ext } from '../../field/extension.js';

interface Round {
  /** t(1) - t(0). */
  readonly d: Ext;
  /** Coefficient of X^2 of t, which has degree two. */
  readonly e: Ext;
}

/**
 * Round of Σ_x weight(x)·Σ_k sign_k·f_k(X, x)·g_k(X, x): t at 0, 1 and 2, then the second difference halved.
 *
 * @param terms   arrays of length 2·weights.length
 */
export function round(
  weights: readonly Ext[],
  terms: readonly { readonly f: readonly Ext[]; readonly g: readonly Ext[]; readonly negative: boolean }[],
): Round {
  const half = weights.length;
  const at = (array: readonly Ext[], x: number, value: Ext): Ext =>
    F.add(array[x]!, F.mul(value, F.sub(array[x + half]!, array[x]!)));
  const t = (value: Ext): Ext =>
    F.sum(
      terms.flatMap(({ f, g, negative }) =>
        weights.map((weight, x) => {
          const product = F.mul(weight, F.mul(at(f, x, value), at(g, x, value)));
          return negative ? F.neg(product) : product;
        }),
      ),
    );
  const [t0, t1, t2] = [t(F.ZERO), t(F.ONE), t(F.fromInteger(2))];
  const d = F.sub(t1, t0);
  return { d, e: F.mul(F.HALF, F.sub(F.sub(t2, t1), d)) };
}

/** Binds the first variable. */
export function fold(f: readonly Ext[], r: Ext): Ext[] {
  const half = f.length / 2;
  return f.slice(0, half).map((value, x) => F.add(value, F.mul(r, F.sub(f[x + half]!, value))));
}

/** Fractions of the next smaller layer: p[x]/q[x] + p[x+half]/q[x+half]. */
export function fractionLayer(p: readonly Ext[], q: readonly Ext[]): { readonly p: Ext[]; readonly q: Ext[] } {
  const half = p.length / 2;
  const indices = Array.from({ length: half }, (_, x) => x);
  return {
    p: indices.map((x) => F.add(F.mul(p[x]!, q[x + half]!), F.mul(p[x + half]!, q[x]!))),
    q: indices.map((x) => F.mul(q[x]!, q[x + half]!)),
  };
}
