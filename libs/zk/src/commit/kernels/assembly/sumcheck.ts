/**
 * Sumcheck in mean form and the fractions of logUp-GKR. Arrays are indexed by the cube, most significant variable
 * first, so a round pairs x with x + half (libs/zk/SPEC.md §1, §6, §7 F1).
 *
 * A round's message is d = t(1) - t(0) and e, the coefficient of X^2, of t(X) = Σ_x weight(x)·h(X, x). The weight is
 * high[x >> logLow]·low[x mod 2^logLow]: two small tables instead of one of full length. Kernels write the sum over
 * blocks begin … end-1 of 2^logLow indices each, as two extension elements (d, e); partial sums may be added.
 */
import {
  accumulated,
  accumulatedLazy,
  addProduct,
  clearProducts,
  companion,
  extMul,
  fixedH,
  fixedL,
  scaledH0,
  scaledH1,
  scaledL0,
  scaledL1,
  setProduct,
  subtractProduct,
} from './ext';
import { addV, high32, low32, mul, productH, productL, reduce, reduceLazy, sub, subV } from './field';

/**
 * out[x] = scale·eq(point, x) for all x < 2^variables.
 *
 * @param point   `variables` extension elements, most significant first
 * @param scale   address of one extension element
 */
export function eqTableExt(point: usize, variables: i32, scale: usize, out: usize): void {
  v128.store(out, v128.load(scale));
  for (let k: i32 = variables - 1; k >= 0; k--) {
    const z = v128.load(point + ((<usize>k) << 4));
    const zc = companion(z);
    const bytes: usize = (<usize>16) << (variables - 1 - k);
    for (let at = out; at < out + bytes; at += 16) {
      const x = v128.load(at);
      const high = reduce(fixedL(x, z, zc), fixedH(x, z, zc));
      v128.store(at + bytes, high);
      v128.store(at, subV(x, high));
    }
  }
}

/** As `eqTableExt` with point, scale and table in the base field. */
export function eqTableBase(point: usize, variables: i32, scale: usize, out: usize): void {
  store<u64>(out, load<u64>(scale));
  for (let k: i32 = variables - 1; k >= 0; k--) {
    const z = load<u64>(point + ((<usize>k) << 3));
    const bytes: usize = (<usize>8) << (variables - 1 - k);
    if (bytes == 8) {
      const high = mul(load<u64>(out), z);
      store<u64>(out, high, 8);
      store<u64>(out, sub(load<u64>(out), high));
      continue;
    }
    const zz = i64x2.splat(z);
    for (let at = out; at < out + bytes; at += 16) {
      const x = v128.load(at);
      const high = reduce(productL(x, zz), productH(x, zz));
      v128.store(at + bytes, high);
      v128.store(at, subV(x, high));
    }
  }
}

/** h = f·g, both over the extension. */
export function roundExt(
  f: usize,
  g: usize,
  half: usize,
  high: usize,
  low: usize,
  logLow: i32,
  begin: usize,
  end: usize,
  out: usize,
): void {
  let d = i64x2.splat(0);
  let e = i64x2.splat(0);
  const bytes = half << 4;
  for (let block = begin; block < end; block++) {
    const first = block << (logLow + 4);
    const blockBytes: usize = (<usize>16) << logLow;
    clearProducts(1);
    clearProducts(2);
    for (let i: usize = 0; i < blockBytes; i += 16) {
      const f0 = v128.load(f + first + i);
      const f1 = v128.load(f + first + i + bytes);
      const g0 = v128.load(g + first + i);
      const g1 = v128.load(g + first + i + bytes);
      const w = v128.load(low + i);
      setProduct(0, f1, g1);
      subtractProduct(0, f0, g0);
      addProduct(1, accumulatedLazy(0), w);
      setProduct(0, subV(f1, f0), subV(g1, g0));
      addProduct(2, accumulatedLazy(0), w);
    }
    const scale = v128.load(high + (block << 4));
    d = addV(d, extMul(accumulated(1), scale));
    e = addV(e, extMul(accumulated(2), scale));
  }
  v128.store(out, d);
  v128.store(out, e, 16);
}

/** h = f·g, both over the base field; needs logLow >= 1 unless half = 1. */
export function roundBase(
  f: usize,
  g: usize,
  half: usize,
  high: usize,
  low: usize,
  logLow: i32,
  begin: usize,
  end: usize,
  out: usize,
): void {
  let d = i64x2.splat(0);
  let e = i64x2.splat(0);
  const bytes = half << 3;
  for (let block = begin; block < end; block++) {
    let ld = i64x2.splat(0);
    let hd = i64x2.splat(0);
    let le = i64x2.splat(0);
    let he = i64x2.splat(0);
    const first = block << (logLow + 3);
    const count: usize = (<usize>1) << logLow;
    for (let i: usize = 0; i < count; i += 2) {
      const single = i + 1 == count;
      const at = first + (i << 3);
      const f0 = single ? v128.load_zero<u64>(f + at) : v128.load(f + at);
      const f1 = single ? v128.load_zero<u64>(f + at + bytes) : v128.load(f + at + bytes);
      const g0 = single ? v128.load_zero<u64>(g + at) : v128.load(g + at);
      const g1 = single ? v128.load_zero<u64>(g + at + bytes) : v128.load(g + at + bytes);
      const w0 = v128.load(low + (i << 4));
      const w1 = single ? w0 : v128.load(low + (i << 4), 16);
      const difference = reduceLazy(
        i64x2.sub(productL(f1, g1), productL(f0, g0)),
        i64x2.sub(productH(f1, g1), productH(f0, g0)),
      );
      ld = i64x2.add(ld, i64x2.add(scaledL0(difference, w0), scaledL1(difference, w1)));
      hd = i64x2.add(hd, i64x2.add(scaledH0(difference, w0), scaledH1(difference, w1)));
      const fe = subV(f1, f0);
      const ge = subV(g1, g0);
      const square = reduceLazy(productL(fe, ge), productH(fe, ge));
      le = i64x2.add(le, i64x2.add(scaledL0(square, w0), scaledL1(square, w1)));
      he = i64x2.add(he, i64x2.add(scaledH0(square, w0), scaledH1(square, w1)));
    }
    const scale = v128.load(high + (block << 4));
    d = addV(d, extMul(reduce(ld, hd), scale));
    e = addV(e, extMul(reduce(le, he), scale));
  }
  v128.store(out, d);
  v128.store(out, e, 16);
}

/** h = f·g over the extension with weight 1 on indices begin … end-1, at most 2^19 of them. */
export function plainRoundExt(f: usize, g: usize, half: usize, begin: usize, end: usize, out: usize): void {
  const bytes = half << 4;
  clearProducts(1);
  clearProducts(2);
  for (let i = begin << 4; i < end << 4; i += 16) {
    const f0 = v128.load(f + i);
    const f1 = v128.load(f + i + bytes);
    const g0 = v128.load(g + i);
    const g1 = v128.load(g + i + bytes);
    addProduct(1, f1, g1);
    subtractProduct(1, f0, g0);
    addProduct(2, subV(f1, f0), subV(g1, g0));
  }
  v128.store(out, accumulated(1));
  v128.store(out, accumulated(2), 16);
}

/** As `plainRoundExt` with g over the base field; at most 2^20 indices. */
export function plainRoundMixed(f: usize, g: usize, half: usize, begin: usize, end: usize, out: usize): void {
  let ld = i64x2.splat(0);
  let hd = i64x2.splat(0);
  let le = i64x2.splat(0);
  let he = i64x2.splat(0);
  for (let i = begin; i < end; i++) {
    const f0 = v128.load(f + (i << 4));
    const f1 = v128.load(f + ((i + half) << 4));
    const g0 = v128.load_splat<u64>(g + (i << 3));
    const g1 = v128.load_splat<u64>(g + ((i + half) << 3));
    ld = i64x2.add(ld, i64x2.sub(productL(f1, g1), productL(f0, g0)));
    hd = i64x2.add(hd, i64x2.sub(productH(f1, g1), productH(f0, g0)));
    const fe = subV(f1, f0);
    const ge = subV(g1, g0);
    le = i64x2.add(le, productL(fe, ge));
    he = i64x2.add(he, productH(fe, ge));
  }
  v128.store(out, reduce(ld, hd));
  v128.store(out, reduce(le, he), 16);
}

/** h = a0·a1 - b0·b1 over the extension. */
export function roundFractions(
  a0: usize,
  a1: usize,
  b0: usize,
  b1: usize,
  half: usize,
  high: usize,
  low: usize,
  logLow: i32,
  begin: usize,
  end: usize,
  out: usize,
): void {
  let d = i64x2.splat(0);
  let e = i64x2.splat(0);
  const bytes = half << 4;
  for (let block = begin; block < end; block++) {
    const first = block << (logLow + 4);
    const blockBytes: usize = (<usize>16) << logLow;
    clearProducts(1);
    clearProducts(2);
    for (let i: usize = 0; i < blockBytes; i += 16) {
      const at = first + i;
      const w = v128.load(low + i);
      const x0 = v128.load(a0 + at);
      const x1 = v128.load(a0 + at + bytes);
      const y0 = v128.load(a1 + at);
      const y1 = v128.load(a1 + at + bytes);
      const u0 = v128.load(b0 + at);
      const u1 = v128.load(b0 + at + bytes);
      const v0 = v128.load(b1 + at);
      const v1 = v128.load(b1 + at + bytes);
      setProduct(0, x1, y1);
      subtractProduct(0, x0, y0);
      subtractProduct(0, u1, v1);
      addProduct(0, u0, v0);
      addProduct(1, accumulatedLazy(0), w);
      setProduct(0, subV(x1, x0), subV(y1, y0));
      subtractProduct(0, subV(u1, u0), subV(v1, v0));
      addProduct(2, accumulatedLazy(0), w);
    }
    const scale = v128.load(high + (block << 4));
    d = addV(d, extMul(accumulated(1), scale));
    e = addV(e, extMul(accumulated(2), scale));
  }
  v128.store(out, d);
  v128.store(out, e, 16);
}

/**
 * Binds the first variable: out[x] = f[x] + r·(f[x + half] - f[x]) for x in begin … end-1. `out` may be `f`.
 *
 * @param r   address of one extension element
 */
export function foldExt(f: usize, half: usize, r: usize, begin: usize, end: usize, out: usize): void {
  const z = v128.load(r);
  const zc = companion(z);
  const bytes = half << 4;
  for (let i = begin << 4; i < end << 4; i += 16) {
    const f0 = v128.load(f + i);
    const difference = subV(v128.load(f + i + bytes), f0);
    const l = i64x2.add(fixedL(difference, z, zc), low32(f0));
    v128.store(out + i, reduce(l, i64x2.add(fixedH(difference, z, zc), high32(f0))));
  }
}

/** As `foldExt` for a base array; the result is over the extension, and `out` must not overlap `f`. */
export function foldBase(f: usize, half: usize, r: usize, begin: usize, end: usize, out: usize): void {
  const z = v128.load(r);
  for (let i = begin; i < end; i++) {
    const f0 = v128.load_zero<u64>(f + (i << 3));
    const difference = subV(v128.load_zero<u64>(f + ((i + half) << 3)), f0);
    const l = i64x2.add(scaledL0(difference, z), low32(f0));
    v128.store(out + (i << 4), reduce(l, i64x2.add(scaledH0(difference, z), high32(f0))));
  }
}

/**
 * Next smaller layer of the fraction tree: p[x]·q[x+half] + p[x+half]·q[x] and q[x]·q[x+half] for x in begin … end-1.
 */
export function fractionLayer(
  p: usize,
  q: usize,
  half: usize,
  begin: usize,
  end: usize,
  outP: usize,
  outQ: usize,
): void {
  const bytes = half << 4;
  for (let i = begin << 4; i < end << 4; i += 16) {
    const p0 = v128.load(p + i);
    const p1 = v128.load(p + i + bytes);
    const q0 = v128.load(q + i);
    const q1 = v128.load(q + i + bytes);
    setProduct(0, p0, q1);
    addProduct(0, p1, q0);
    v128.store(outP + i, accumulated(0));
    v128.store(outQ + i, extMul(q0, q1));
  }
}

/** As `fractionLayer` with numerators in the base field. */
export function fractionLeaves(
  p: usize,
  q: usize,
  half: usize,
  begin: usize,
  end: usize,
  outP: usize,
  outQ: usize,
): void {
  for (let i = begin; i < end; i++) {
    const p0 = v128.load_splat<u64>(p + (i << 3));
    const p1 = v128.load_splat<u64>(p + ((i + half) << 3));
    const q0 = v128.load(q + (i << 4));
    const q1 = v128.load(q + ((i + half) << 4));
    const l = i64x2.add(productL(p0, q1), productL(p1, q0));
    v128.store(outP + (i << 4), reduce(l, i64x2.add(productH(p0, q1), productH(p1, q0))));
    v128.store(outQ + (i << 4), extMul(q0, q1));
  }
}

/** b[x] = lambda·p[x], a[x] = q[x] + b[x] for x in begin … end-1: the factors of `roundFractions`. */
export function fractionFactors(
  p: usize,
  q: usize,
  lambda: usize,
  begin: usize,
  end: usize,
  a: usize,
  b: usize,
): void {
  const z = v128.load(lambda);
  const zc = companion(z);
  for (let i = begin << 4; i < end << 4; i += 16) {
    const x = v128.load(p + i);
    const scaled = reduce(fixedL(x, z, zc), fixedH(x, z, zc));
    v128.store(b + i, scaled);
    v128.store(a + i, addV(v128.load(q + i), scaled));
  }
}

/** As `fractionFactors` with numerators in the base field. */
export function leafFactors(p: usize, q: usize, lambda: usize, begin: usize, end: usize, a: usize, b: usize): void {
  const z = v128.load(lambda);
  for (let i = begin; i < end; i++) {
    const x = v128.load_splat<u64>(p + (i << 3));
    const scaled = reduce(productL(x, z), productH(x, z));
    v128.store(b + (i << 4), scaled);
    v128.store(a + (i << 4), addV(v128.load(q + (i << 4)), scaled));
  }
}
