/**
 * Goldilocks arithmetic, p = 2^64 - 2^32 + 1, on u64 scalars and on two lanes of a v128. Canonical in, canonical out.
 *
 * Vector products are kept as a pair of signed 64-bit limb sums (L, H) that stand for L + H·2^32. With
 * 2^64 = 2^32 - 1 and 2^96 = -1 the four 32x32 products collapse into these two sums without any carry, so sums of
 * products cost no reduction until `reduce`. Source: libs/zk/SPEC.md §1; the carry-free form is ours.
 */

export const P: u64 = 0xffffffff00000001;
export const EPSILON: u64 = 0xffffffff;

// @ts-ignore: decorator
@inline
export function add(a: u64, b: u64): u64 {
  const t = P - b;
  const r = a - t;
  return a < t ? r + P : r;
}

// @ts-ignore: decorator
@inline
export function sub(a: u64, b: u64): u64 {
  const r = a - b;
  return a < b ? r + P : r;
}

export function mul(a: u64, b: u64): u64 {
  const a0 = a & EPSILON;
  const a1 = a >> 32;
  const b0 = b & EPSILON;
  const b1 = b >> 32;
  const low = a0 * b0;
  const t = a1 * b0 + (low >> 32);
  const u = a0 * b1 + (t & EPSILON);
  const lo = (u << 32) | (low & EPSILON);
  const hi = a1 * b1 + (t >> 32) + (u >> 32);
  let r = lo - (hi >> 32);
  if (lo < hi >> 32) r -= EPSILON;
  const m = ((hi & EPSILON) << 32) - (hi & EPSILON);
  const s = r + m;
  const c = s < m ? s + EPSILON : s;
  return c >= P ? c - P : c;
}

export function power(a: u64, exponent: u64): u64 {
  let result: u64 = 1;
  let base = a;
  for (let e = exponent; e != 0; e >>= 1) {
    if (e & 1) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

// @ts-ignore: decorator
@inline
export function addV(a: v128, b: v128): v128 {
  const t = i64x2.sub(i64x2.splat(P ^ 0x8000000000000000), b);
  const s = v128.xor(a, i64x2.splat(0x8000000000000000));
  const borrow = i64x2.gt_s(t, s);
  return i64x2.add(i64x2.sub(s, t), v128.and(borrow, i64x2.splat(P)));
}

// @ts-ignore: decorator
@inline
export function subV(a: v128, b: v128): v128 {
  const t = v128.xor(b, i64x2.splat(0x8000000000000000));
  const s = v128.xor(a, i64x2.splat(0x8000000000000000));
  const borrow = i64x2.gt_s(t, s);
  return i64x2.add(i64x2.sub(s, t), v128.and(borrow, i64x2.splat(P)));
}

/** Low words to the first half, high words to the second: [x0, y0, x1, y1] from lanes x, y. */
// @ts-ignore: decorator
@inline
export function halves(a: v128): v128 {
  return v128.shuffle<u32>(a, a, 0, 2, 1, 3);
}

/** As `halves` with high words first. */
// @ts-ignore: decorator
@inline
export function halvesSwapped(a: v128): v128 {
  return v128.shuffle<u32>(a, a, 1, 3, 0, 2);
}

/** Low 32 bits of each lane; with `high32` the limbs of a plain value. */
// @ts-ignore: decorator
@inline
export function low32(a: v128): v128 {
  return v128.and(a, i64x2.splat(0xffffffff));
}

// @ts-ignore: decorator
@inline
export function high32(a: v128): v128 {
  return i64x2.shr_u(a, 32);
}

/** The part of a product that counts once in H and is taken off L: 2^64 = 2^32 - 1. */
// @ts-ignore: decorator
@inline
function middle(lh: v128, hl: v128, hh: v128): v128 {
  return i64x2.add(i64x2.add(i64x2.shr_u(lh, 32), i64x2.shr_u(hl, 32)), low32(hh));
}

/**
 * L of one product from its four partial products (each lane below 2^64); -2^34 < L < 2^32.
 * ll low·low, lh low·high, hl high·low, hh high·high.
 */
// @ts-ignore: decorator
@inline
export function limbL(ll: v128, lh: v128, hl: v128, hh: v128): v128 {
  return i64x2.sub(i64x2.sub(low32(ll), middle(lh, hl, hh)), i64x2.shr_u(hh, 32));
}

/** H of one product; 0 <= H < 6·2^32. */
// @ts-ignore: decorator
@inline
export function limbH(ll: v128, lh: v128, hl: v128, hh: v128): v128 {
  const low = i64x2.add(i64x2.add(low32(lh), low32(hl)), i64x2.shr_u(ll, 32));
  return i64x2.add(middle(lh, hl, hh), low);
}

/** A value below 2^64, not always below p, congruent to L + H·2^32 for |L|, |H| < 2^58.9. */
// @ts-ignore: decorator
@inline
export function reduceLazy(l: v128, h: v128): v128 {
  // 2^28·(2^32 - 1) on H and 2^28 on L are together a multiple of p; they make everything below positive.
  const g = i64x2.add(h, i64x2.splat((1 << 60) - (1 << 28)));
  const top = i64x2.shr_u(g, 32);
  const a = i64x2.shl(g, 32);
  const s = i64x2.add(i64x2.sub(i64x2.add(l, i64x2.splat(1 << 28)), top), v128.and(g, i64x2.splat(~0xffffffff)));
  const sum = i64x2.add(a, s);
  // s < 2^63, so the sum wrapped exactly where the top bit of a was lost.
  const wrapped = low32(i64x2.gt_s(i64x2.splat(0), v128.andnot(a, sum)));
  return i64x2.add(sum, wrapped);
}

/** Canonical form of any lane below 2^64. */
// @ts-ignore: decorator
@inline
export function canonical(a: v128): v128 {
  const bias = i64x2.splat(0x8000000000000000);
  const above = i64x2.gt_s(v128.xor(a, bias), i64x2.splat((P - 1) ^ 0x8000000000000000));
  return i64x2.add(a, low32(above));
}

/** Canonical value of L + H·2^32 for |L|, |H| <= 2^59. */
// @ts-ignore: decorator
@inline
export function reduce(l: v128, h: v128): v128 {
  // As reduceLazy, but 2^61 is added to H alone; its weight 2^93 = 2^61 - 2^29 is taken off at the end, which also
  // brings the result below p.
  const g = i64x2.add(h, i64x2.splat(1 << 61));
  const top = i64x2.shr_u(g, 32);
  const a = i64x2.shl(g, 32);
  const s = i64x2.add(i64x2.sub(l, top), v128.and(g, i64x2.splat(~0xffffffff)));
  const sum = i64x2.add(a, s);
  const wrapped = low32(i64x2.gt_s(i64x2.splat(0), v128.andnot(a, sum)));
  const r = i64x2.add(sum, wrapped);
  const d = i64x2.sub(r, i64x2.splat((1 << 61) - (1 << 29)));
  const borrowed = low32(i64x2.gt_s(i64x2.splat(0), v128.andnot(d, r)));
  return i64x2.sub(d, borrowed);
}

/** L of the products of two lanes, of one factor its `halves`, of the other both orders. */
// @ts-ignore: decorator
@inline
export function halvesL(x: v128, y: v128, swapped: v128): v128 {
  return limbL(
    i64x2.extmul_low_i32x4_u(x, y),
    i64x2.extmul_low_i32x4_u(x, swapped),
    i64x2.extmul_high_i32x4_u(x, swapped),
    i64x2.extmul_high_i32x4_u(x, y),
  );
}

// @ts-ignore: decorator
@inline
export function halvesH(x: v128, y: v128, swapped: v128): v128 {
  return limbH(
    i64x2.extmul_low_i32x4_u(x, y),
    i64x2.extmul_low_i32x4_u(x, swapped),
    i64x2.extmul_high_i32x4_u(x, swapped),
    i64x2.extmul_high_i32x4_u(x, y),
  );
}

// @ts-ignore: decorator
@inline
export function productL(a: v128, b: v128): v128 {
  return halvesL(halves(a), halves(b), halvesSwapped(b));
}

// @ts-ignore: decorator
@inline
export function productH(a: v128, b: v128): v128 {
  return halvesH(halves(a), halves(b), halvesSwapped(b));
}

// @ts-ignore: decorator
@inline
export function mulV(a: v128, b: v128): v128 {
  return reduce(productL(a, b), productH(a, b));
}

/** The words at two addresses. */
// @ts-ignore: decorator
@inline
export function pairAt(a: usize, b: usize): v128 {
  return v128.load_lane<u64>(b, v128.load_zero<u64>(a), 1);
}
