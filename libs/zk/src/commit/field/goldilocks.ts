/** The base field F_p, p = 2^64 − 2^32 + 1 (libs/zk/SPEC.md §1). Elements are bigints in [0, p). */

import { arithmetic, P } from './arithmetic.js';

export { P };
/** Generator of the multiplicative group; also the coset shift of every code domain (libs/zk/SPEC.md §9.1). */
export const GENERATOR = 7n;

/** Canonical representative of any integer. */
export function reduce(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

export const { add, sub, mul } = arithmetic;

/** base^exponent, exponent ≥ 0. */
export function pow(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mul(result, square);
    square = mul(square, square);
  }
  return result;
}

/** @throws RangeError for zero */
export function inverse(a: bigint): bigint {
  if (a === 0n) throw new RangeError('zero has no inverse');
  return pow(a, P - 2n);
}

/** 2^-k. */
export function inversePowerOfTwo(k: number): bigint {
  return pow((P + 1n) / 2n, BigInt(k));
}

/** Primitive 2^k-th root of unity, 0 ≤ k ≤ 32: 7^((p−1)/2^k). */
export function rootOfUnity(k: number): bigint {
  return roots[k]!;
}

const roots = rootsFrom(pow(GENERATOR, (P - 1n) >> 32n));

function rootsFrom(last: bigint): bigint[] {
  const list = [last];
  while (list.length < 33) list.unshift(mul(list[0]!, list[0]!));
  return list;
}
