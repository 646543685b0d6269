/** The quadratic extension F = F_p[X]/(X² − 7) (libs/zk/SPEC.md §1), where challenges live. Element c0 + c1·X. */
import { arithmetic, type Ext } from './arithmetic.js';
import * as base from './goldilocks.js';

const { P } = base;

export type { Ext };

export const ZERO: Ext = { c0: 0n, c1: 0n };
export const ONE: Ext = { c0: 1n, c1: 0n };
export const HALF: Ext = { c0: (P + 1n) / 2n, c1: 0n };
/** X itself. */
export const X: Ext = { c0: 0n, c1: 1n };

/** Embeds any integer. */
export function fromInteger(value: bigint | number): Ext {
  return { c0: base.reduce(BigInt(value)), c1: 0n };
}

export function add(a: Ext, b: Ext): Ext {
  return { c0: base.add(a.c0, b.c0), c1: base.add(a.c1, b.c1) };
}

export function sub(a: Ext, b: Ext): Ext {
  return { c0: base.sub(a.c0, b.c0), c1: base.sub(a.c1, b.c1) };
}

export function neg(a: Ext): Ext {
  return { c0: a.c0 === 0n ? 0n : P - a.c0, c1: a.c1 === 0n ? 0n : P - a.c1 };
}

export const { dot, weigh, horner, mulExt: mul } = arithmetic;

export function square(a: Ext): Ext {
  return mul(a, a);
}

/** Product with an element of the base field. */
export function scale(a: Ext, factor: bigint): Ext {
  return { c0: base.mul(a.c0, factor), c1: base.mul(a.c1, factor) };
}

/** base^exponent, exponent ≥ 0. */
export function pow(a: Ext, exponent: bigint): Ext {
  let result = ONE;
  let power = a;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mul(result, power);
    power = square(power);
  }
  return result;
}

/** @throws RangeError for zero */
export function inverse(a: Ext): Ext {
  const norm = base.reduce(a.c0 * a.c0 - 7n * a.c1 * a.c1);
  const factor = base.inverse(norm);
  return scale({ c0: a.c0, c1: a.c1 === 0n ? 0n : P - a.c1 }, factor);
}

export function equal(a: Ext, b: Ext): boolean {
  return a.c0 === b.c0 && a.c1 === b.c1;
}

export function isZero(a: Ext): boolean {
  return a.c0 === 0n && a.c1 === 0n;
}

export function sum(values: Iterable<Ext>): Ext {
  let total = ZERO;
  for (const value of values) total = add(total, value);
  return total;
}
