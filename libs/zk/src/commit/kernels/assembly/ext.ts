/**
 * The quadratic extension X^2 = 7. An element c0 + c1·X is one v128 with lanes (c0, c1).
 * `extL` and `extH` give the limb sums of a product (field.ts); |L| < 2^37, H < 2^38, so 2^20 of them may be added.
 * Sums of several products go through accumulators in memory: the stores keep the compiler from holding the partial
 * products of all of them in registers at once (roundFractions: 72 → 56 ns), and X^2 = 7 is applied once, at the end.
 */
import {
  addV,
  halves,
  halvesH,
  halvesL,
  halvesSwapped,
  high32,
  low32,
  mul,
  productH,
  productL,
  reduce,
  reduceLazy,
} from './field';

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

/**
 * Stores x plus a product and y plus another. Of both together, in two lanes: limb sums of the products of the real parts, of
 * the X-parts, and of the sums of the parts, so that a product takes three of the base field. `first` may be `second` where
 * both are one.
 */
// @ts-ignore: decorator
@inline
export function storeSums(
  l0: v128,
  h0: v128,
  l1: v128,
  h1: v128,
  ls: v128,
  hs: v128,
  x: v128,
  y: v128,
  first: usize,
  second: usize,
): void {
  const real = v128.shuffle<u64>(x, y, 0, 2);
  const imaginary = v128.shuffle<u64>(x, y, 1, 3);
  const c0 = reduce(
    i64x2.add(i64x2.add(l0, sevenfold(l1)), low32(real)),
    i64x2.add(i64x2.add(h0, sevenfold(h1)), high32(real)),
  );
  const c1 = reduce(
    i64x2.add(i64x2.sub(i64x2.sub(ls, l0), l1), low32(imaginary)),
    i64x2.add(i64x2.sub(i64x2.sub(hs, h0), h1), high32(imaginary)),
  );
  v128.store(second, v128.shuffle<u64>(c0, c1, 1, 3));
  v128.store(first, v128.shuffle<u64>(c0, c1, 0, 2));
}

// @ts-ignore: decorator
@inline
function sevenfold(a: v128): v128 {
  return i64x2.sub(i64x2.shl(a, 3), a);
}

/** As `storeSums`: x + a·z and y + b·z, given the parts of z in both lanes, and their sum. */
// @ts-ignore: decorator
@inline
export function storeFixed(
  a: v128,
  b: v128,
  z0: v128,
  z1: v128,
  zs: v128,
  x: v128,
  y: v128,
  first: usize,
  second: usize,
): void {
  const d0 = v128.shuffle<u64>(a, b, 0, 2);
  const d1 = v128.shuffle<u64>(a, b, 1, 3);
  const ds = addV(d0, d1);
  const l0 = productL(d0, z0);
  const h0 = productH(d0, z0);
  const l1 = productL(d1, z1);
  const h1 = productH(d1, z1);
  storeSums(l0, h0, l1, h1, productL(ds, zs), productH(ds, zs), x, y, first, second);
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
  return halvesL(x, halves(b), halvesSwapped(b));
}

// @ts-ignore: decorator
@inline
function scaledH(x: v128, b: v128): v128 {
  return halvesH(x, halves(b), halvesSwapped(b));
}

let accumulators: usize = 0;

/** Bytes of thread-private memory that three accumulators use. */
export const ACCUMULATOR_BYTES: usize = 3 * 64;

export function setAccumulators(pointer: usize): void {
  accumulators = pointer;
}

/** Accumulator `index`, 0 … 2: limb sums (L, H) of the products with lane 0 of a, then of those with lane 1. */
// @ts-ignore: decorator
@inline
function accumulator(index: usize): usize {
  return accumulators + (index << 6);
}

// @ts-ignore: decorator
@inline
export function clearProducts(index: usize): void {
  const at = accumulator(index);
  v128.store(at, i64x2.splat(0), 0);
  v128.store(at, i64x2.splat(0), 16);
  v128.store(at, i64x2.splat(0), 32);
  v128.store(at, i64x2.splat(0), 48);
}

// @ts-ignore: decorator
@inline
export function setProduct(index: usize, a: v128, b: v128): void {
  const at = accumulator(index);
  const swapped = swapLanes(b);
  v128.store(at, scaledL0(a, b));
  v128.store(at, scaledH0(a, b), 16);
  v128.store(at, scaledL1(a, swapped), 32);
  v128.store(at, scaledH1(a, swapped), 48);
}

// @ts-ignore: decorator
@inline
export function addProduct(index: usize, a: v128, b: v128): void {
  const at = accumulator(index);
  const swapped = swapLanes(b);
  v128.store(at, i64x2.add(v128.load(at), scaledL0(a, b)));
  v128.store(at, i64x2.add(v128.load(at, 16), scaledH0(a, b)), 16);
  v128.store(at, i64x2.add(v128.load(at, 32), scaledL1(a, swapped)), 32);
  v128.store(at, i64x2.add(v128.load(at, 48), scaledH1(a, swapped)), 48);
}

// @ts-ignore: decorator
@inline
export function subtractProduct(index: usize, a: v128, b: v128): void {
  const at = accumulator(index);
  const swapped = swapLanes(b);
  v128.store(at, i64x2.sub(v128.load(at), scaledL0(a, b)));
  v128.store(at, i64x2.sub(v128.load(at, 16), scaledH0(a, b)), 16);
  v128.store(at, i64x2.sub(v128.load(at, 32), scaledL1(a, swapped)), 32);
  v128.store(at, i64x2.sub(v128.load(at, 48), scaledH1(a, swapped)), 48);
}

/** The accumulated value, canonical; at most 2^20 products. */
// @ts-ignore: decorator
@inline
export function accumulated(index: usize): v128 {
  const at = accumulator(index);
  return reduce(
    plusSeven(v128.load(at), v128.load(at, 32)),
    plusSeven(v128.load(at, 16), v128.load(at, 48)),
  );
}

/** The accumulated value, below 2^64 only: enough for a factor. */
// @ts-ignore: decorator
@inline
export function accumulatedLazy(index: usize): v128 {
  const at = accumulator(index);
  return reduceLazy(
    plusSeven(v128.load(at), v128.load(at, 32)),
    plusSeven(v128.load(at, 16), v128.load(at, 48)),
  );
}
