/** Integer primitives of libs/step/SPEC.md §2 over ℤ. */

/** Rounds x / 2^s half toward +∞; multiplies by 2^-s when s < 0. */
export function roundShift(x: bigint, s: number): bigint {
  if (s > 0) return (x + (1n << BigInt(s - 1))) >> BigInt(s);
  return x << BigInt(-s);
}

/** floor(n / d), d > 0. */
export function floorDiv(n: bigint, d: bigint): bigint {
  const quotient = n / d;
  return n % d < 0n ? quotient - 1n : quotient;
}

/** n / d rounded half toward +∞, d > 0. */
export function divRound(n: bigint, d: bigint): bigint {
  return floorDiv(2n * n + d, 2n * d);
}

/** floor(sqrt(n)), n ≥ 0. */
export function isqrt(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

export function clamp(x: bigint, low: bigint, high: bigint): bigint {
  return x < low ? low : x > high ? high : x;
}

export function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
