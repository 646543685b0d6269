/** Sums of products: inner products, binding one dimension of a tensor, combinations of columns. */
import { accumulated, addProduct, clearProducts, scaledH0, scaledH1, scaledL0, scaledL1 } from './ext';
import { add, addV, high32, low32, reduce } from './field';

/** Products that may be added before a reduction (ext.ts). */
const RUN: usize = 1 << 20;

/** Σ a[i]·b[i] over extension arrays. */
export function dotExt(a: usize, b: usize, count: usize, out: usize): void {
  let total = i64x2.splat(0);
  for (let begin: usize = 0; begin < count; begin += RUN) {
    const end = min(begin + RUN, count);
    clearProducts(0);
    for (let i = begin << 4; i < end << 4; i += 16) addProduct(0, v128.load(a + i), v128.load(b + i));
    total = addV(total, accumulated(0));
  }
  v128.store(out, total);
}

/** Σ a[i]·v[i], a in the base field. */
// @ts-ignore: decorator
@inline
function dotMixed(a: usize, v: usize, count: usize): v128 {
  let l = i64x2.splat(0);
  let h = i64x2.splat(0);
  let i: usize = 0;
  for (; i + 1 < count; i += 2) {
    const x = v128.load(a + (i << 3));
    const v0 = v128.load(v + (i << 4));
    const v1 = v128.load(v + (i << 4), 16);
    l = i64x2.add(l, i64x2.add(scaledL0(x, v0), scaledL1(x, v1)));
    h = i64x2.add(h, i64x2.add(scaledH0(x, v0), scaledH1(x, v1)));
  }
  if (i < count) {
    const x = v128.load_zero<u64>(a + (i << 3));
    const v0 = v128.load(v + (i << 4));
    l = i64x2.add(l, scaledL0(x, v0));
    h = i64x2.add(h, scaledH0(x, v0));
  }
  return reduce(l, h);
}

/**
 * Binds the middle dimension of a base tensor [outer][middle][inner]: out[o][x] = Σ_k v[k]·source[o][k][x] for o in
 * outerBegin … outerEnd-1 and x in innerBegin … innerEnd-1.
 *
 * @param middle   1 … 2^20
 * @param v        `middle` extension elements
 * @param out      extension tensor [outer][inner]
 */
export function bindBase(
  source: usize,
  outerBegin: usize,
  outerEnd: usize,
  middle: usize,
  inner: usize,
  innerBegin: usize,
  innerEnd: usize,
  v: usize,
  out: usize,
): void {
  for (let o = outerBegin; o < outerEnd; o++) {
    const plane = source + ((o * middle * inner) << 3);
    const target = out + ((o * inner) << 4);
    if (inner == 1) {
      v128.store(target, dotMixed(plane, v, middle));
      continue;
    }
    let x = innerBegin;
    for (; x + 1 < innerEnd; x += 2) bindTwo(plane + (x << 3), middle, inner << 3, v, target + (x << 4));
    if (x < innerEnd) bindOne(plane + (x << 3), middle, inner << 3, v, target + (x << 4));
  }
}

// @ts-ignore: decorator
@inline
function bindTwo(column: usize, middle: usize, stride: usize, v: usize, out: usize): void {
  let l0 = i64x2.splat(0);
  let h0 = i64x2.splat(0);
  let l1 = i64x2.splat(0);
  let h1 = i64x2.splat(0);
  let at = column;
  for (let k: usize = 0; k < middle; k++) {
    const x = v128.load(at);
    const w = v128.load(v + (k << 4));
    l0 = i64x2.add(l0, scaledL0(x, w));
    h0 = i64x2.add(h0, scaledH0(x, w));
    l1 = i64x2.add(l1, scaledL1(x, w));
    h1 = i64x2.add(h1, scaledH1(x, w));
    at += stride;
  }
  v128.store(out, reduce(l0, h0));
  v128.store(out, reduce(l1, h1), 16);
}

function bindOne(column: usize, middle: usize, stride: usize, v: usize, out: usize): void {
  let l = i64x2.splat(0);
  let h = i64x2.splat(0);
  let at = column;
  for (let k: usize = 0; k < middle; k++) {
    const x = v128.load_zero<u64>(at);
    const w = v128.load(v + (k << 4));
    l = i64x2.add(l, scaledL0(x, w));
    h = i64x2.add(h, scaledH0(x, w));
    at += stride;
  }
  v128.store(out, reduce(l, h));
}

/**
 * out[x] = constant + Σ_k coefficients[k]·column_k[x] for x in begin … end-1: base columns, extension coefficients.
 *
 * @param columns        `count` u32 addresses of base arrays
 * @param coefficients   `count` extension elements
 * @param count          0 … 2^20
 * @param constant       address of one extension element
 */
export function combineColumns(
  columns: usize,
  coefficients: usize,
  count: usize,
  constant: usize,
  begin: usize,
  end: usize,
  out: usize,
): void {
  const c = v128.load(constant);
  const lc = low32(c);
  const hc = high32(c);
  let x = begin;
  for (; x + 1 < end; x += 2) {
    let l0 = lc;
    let h0 = hc;
    let l1 = lc;
    let h1 = hc;
    for (let k: usize = 0; k < count; k++) {
      const y = v128.load(<usize>load<u32>(columns + (k << 2)) + (x << 3));
      const w = v128.load(coefficients + (k << 4));
      l0 = i64x2.add(l0, scaledL0(y, w));
      h0 = i64x2.add(h0, scaledH0(y, w));
      l1 = i64x2.add(l1, scaledL1(y, w));
      h1 = i64x2.add(h1, scaledH1(y, w));
    }
    v128.store(out + (x << 4), reduce(l0, h0));
    v128.store(out + (x << 4), reduce(l1, h1), 16);
  }
  if (x == end) return;
  let l = lc;
  let h = hc;
  for (let k: usize = 0; k < count; k++) {
    const y = v128.load_zero<u64>(<usize>load<u32>(columns + (k << 2)) + (x << 3));
    const w = v128.load(coefficients + (k << 4));
    l = i64x2.add(l, scaledL0(y, w));
    h = i64x2.add(h, scaledH0(y, w));
  }
  v128.store(out + (x << 4), reduce(l, h));
}
