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
  storeFixed,
  subtractProduct,
} from './ext';
import { addV, productH, productL, reduce, reduceLazy, subV } from './field';

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
  const z0 = v128.load_splat<u64>(r);
  const z1 = v128.load_splat<u64>(r, 8);
  const zs = addV(z0, z1);
  const bytes = half << 4;
  for (let i = begin; i < end; i += 2) {
    const first = i << 4;
    const second = min(i + 1, end - 1) << 4;
    const x = v128.load(f + first);
    const y = v128.load(f + second);
    const a = subV(v128.load(f + first + bytes), x);
    const b = subV(v128.load(f + second + bytes), y);
    storeFixed(a, b, z0, z1, zs, x, y, out + first, out + second);
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

