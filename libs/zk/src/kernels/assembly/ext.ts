/**
 * The quadratic extension X^2 = 7. An element c0 + c1·X is one v128 with lanes (c0, c1).
 * `extL` and `extH` give the limb sums of a product (field.ts); |L| < 2^37, H < 2^38, so 2^20 of them may be added.
 */
import { halves, halvesSwapped, inverse, limbH, limbL, mul, reduce, sub } from './field';

// @ts-ignore: decorator
@inline
function lane0(a: v128): v128 {
  return v128.shuffle<u32>(a, a, 0, 0, 1, 1);
}

// @ts-ignore: decorator
@inline
function lane1(a: v128): v128 {
  return v128.shuffle<u32>(a, a, 2, 2, 3, 3);
}

/** L + 7·M in lane 0, L + M in lane 1. */
// @ts-ignore: decorator
@inline
function plusSeven(l: v128, m: v128): v128 {
  const first = v128.and(m, i64x2(-1, 0));
  const twice = i64x2.add(first, first);
  return i64x2.add(i64x2.add(l, m), i64x2.add(twice, i64x2.shl(twice, 1)));
}

// @ts-ignore: decorator
@inline
function swapLanes(a: v128): v128 {
  return v128.shuffle<u64>(a, a, 1, 0);
}

// @ts-ignore: decorator
@inline
export function extL(a: v128, b: v128): v128 {
  return plusSeven(scaledL(lane0(a), b), scaledL(lane1(a), swapLanes(b)));
}

// @ts-ignore: decorator
@inline
export function extH(a: v128, b: v128): v128 {
  return plusSeven(scaledH(lane0(a), b), scaledH(lane1(a), swapLanes(b)));
}

// @ts-ignore: decorator
@inline
export function extMul(a: v128, b: v128): v128 {
  return reduce(extL(a, b), extH(a, b));
}

/** The second factor of `fixedL` and `fixedH` for a b that is used many times: (7·b1, b0). */
export function companion(b: v128): v128 {
  return i64x2(mul(7, <u64>i64x2.extract_lane(b, 1)), i64x2.extract_lane(b, 0));
}

/** L of a·b with bc = companion(b); |L| < 2^35. */
// @ts-ignore: decorator
@inline
export function fixedL(a: v128, b: v128, bc: v128): v128 {
  return i64x2.add(scaledL(lane0(a), b), scaledL(lane1(a), bc));
}

/** H of a·b with bc = companion(b); H < 2^36. */
// @ts-ignore: decorator
@inline
export function fixedH(a: v128, b: v128, bc: v128): v128 {
  return i64x2.add(scaledH(lane0(a), b), scaledH(lane1(a), bc));
}

/** L of (lane 0 of a)·b: a base element times an extension element. */
// @ts-ignore: decorator
@inline
export function scaledL0(a: v128, b: v128): v128 {
  return scaledL(lane0(a), b);
}

// @ts-ignore: decorator
@inline
export function scaledH0(a: v128, b: v128): v128 {
  return scaledH(lane0(a), b);
}

// @ts-ignore: decorator
@inline
export function scaledL1(a: v128, b: v128): v128 {
  return scaledL(lane1(a), b);
}

// @ts-ignore: decorator
@inline
export function scaledH1(a: v128, b: v128): v128 {
  return scaledH(lane1(a), b);
}

// @ts-ignore: decorator
@inline
function scaledL(x: v128, b: v128): v128 {
  const h = halves(b);
  const hs = halvesSwapped(b);
  return limbL(
    i64x2.extmul_low_i32x4_u(x, h),
    i64x2.extmul_low_i32x4_u(x, hs),
    i64x2.extmul_high_i32x4_u(x, hs),
    i64x2.extmul_high_i32x4_u(x, h),
  );
}

// @ts-ignore: decorator
@inline
function scaledH(x: v128, b: v128): v128 {
  const h = halves(b);
  const hs = halvesSwapped(b);
  return limbH(
    i64x2.extmul_low_i32x4_u(x, h),
    i64x2.extmul_low_i32x4_u(x, hs),
    i64x2.extmul_high_i32x4_u(x, hs),
    i64x2.extmul_high_i32x4_u(x, h),
  );
}

/** (c0 - c1·X) / (c0^2 - 7·c1^2); the inverse of 0 is 0. */
export function extInverse(a: v128): v128 {
  const c0 = <u64>i64x2.extract_lane(a, 0);
  const c1 = <u64>i64x2.extract_lane(a, 1);
  const norm = inverse(sub(mul(c0, c0), mul(7, mul(c1, c1))));
  return i64x2(mul(c0, norm), mul(sub(0, c1), norm));
}
