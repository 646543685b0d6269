/** Element by element work on arrays, batch inversion and power sequences. Base arrays: words; extension: v128. */
import { companion, extInverse, extMul, fixedH, fixedL } from './ext';
import { add, addV, inverse, low32, high32, mul, mulV, P, reduce, sub, subV } from './field';

/** out[i] = a[i] + b[i]. An extension array of n elements is a base array of 2n here and in `differenceArrays`. */
export function sumArrays(a: usize, b: usize, count: usize, out: usize): void {
  const even = (count & ~1) << 3;
  for (let i: usize = 0; i < even; i += 16) v128.store(out + i, addV(v128.load(a + i), v128.load(b + i)));
  if (count & 1) store<u64>(out + even, add(load<u64>(a + even), load<u64>(b + even)));
}

export function differenceArrays(a: usize, b: usize, count: usize, out: usize): void {
  const even = (count & ~1) << 3;
  for (let i: usize = 0; i < even; i += 16) v128.store(out + i, subV(v128.load(a + i), v128.load(b + i)));
  if (count & 1) store<u64>(out + even, sub(load<u64>(a + even), load<u64>(b + even)));
}

/** out[i] = a[i]·b[i] in the base field. */
export function productBase(a: usize, b: usize, count: usize, out: usize): void {
  const even = (count & ~1) << 3;
  for (let i: usize = 0; i < even; i += 16) v128.store(out + i, mulV(v128.load(a + i), v128.load(b + i)));
  if (count & 1) store<u64>(out + even, mul(load<u64>(a + even), load<u64>(b + even)));
}

/** out[i] = a[i]·b[i] in the extension. */
export function productExt(a: usize, b: usize, count: usize, out: usize): void {
  for (let i: usize = 0; i < count << 4; i += 16) v128.store(out + i, extMul(v128.load(a + i), v128.load(b + i)));
}

/** out[i·count + j] = a[i]·b[j] in the extension for i in begin … end-1 and j < count. */
export function outerExt(a: usize, begin: usize, end: usize, b: usize, count: usize, out: usize): void {
  for (let i = begin; i < end; i++) {
    const f = v128.load(a + (i << 4));
    const fc = companion(f);
    const row = out + ((i * count) << 4);
    for (let j: usize = 0; j < count << 4; j += 16) {
      const x = v128.load(b + j);
      v128.store(row + j, reduce(fixedL(x, f, fc), fixedH(x, f, fc)));
    }
  }
}

/** Zeros, 8 bytes each. */
export function clear(count: usize, out: usize): void {
  memory.fill(out, 0, count << 3);
}

/** Most terms of one `addTensors`. */
export const TENSOR_TERMS: usize = 32;
/** Bytes of thread-private memory that `addTensors` uses. */
export const FACTOR_BYTES: usize = TENSOR_TERMS << 5;

let factors: usize = 0;

export function setFactors(pointer: usize): void {
  factors = pointer;
}

/**
 * out[i·count + j] += Σ_k a_k[i]·b_k[j] in the extension for i in begin … end-1 and j < count.
 *
 * @param a       `terms` u32 addresses of arrays, b likewise
 * @param terms   at most TENSOR_TERMS
 */
export function addTensors(
  a: usize,
  b: usize,
  terms: usize,
  begin: usize,
  end: usize,
  count: usize,
  out: usize,
): void {
  const last = factors + (terms << 5);
  for (let i = begin; i < end; i++) {
    for (let k: usize = 0; k < terms; k++) {
      const f = v128.load(<usize>load<u32>(a + (k << 2)) + (i << 4));
      v128.store(factors + (k << 5), f);
      v128.store(factors + (k << 5), companion(f), 16);
    }
    const row = out + ((i * count) << 4);
    for (let j: usize = 0; j < count << 4; j += 16) {
      const y = v128.load(row + j);
      let l = low32(y);
      let h = high32(y);
      let column = b;
      for (let at = factors; at < last; at += 32) {
        const x = v128.load(<usize>load<u32>(column) + j);
        const f = v128.load(at);
        const fc = v128.load(at, 16);
        l = i64x2.add(l, fixedL(x, f, fc));
        h = i64x2.add(h, fixedH(x, f, fc));
        column += 4;
      }
      v128.store(row + j, reduce(l, h));
    }
  }
}

/** out[i] += factor·a[i] in the extension; `factor` is the address of one element. */
export function addScaledExt(a: usize, factor: usize, count: usize, out: usize): void {
  const f = v128.load(factor);
  const fc = companion(f);
  for (let i: usize = 0; i < count << 4; i += 16) {
    const x = v128.load(a + i);
    const y = v128.load(out + i);
    const l = i64x2.add(fixedL(x, f, fc), low32(y));
    v128.store(out + i, reduce(l, i64x2.add(fixedH(x, f, fc), high32(y))));
  }
}

/** out[i] = 1/a[i], and 0 where a[i] = 0. `out` must not overlap `a`. */
export function inverseBase(a: usize, count: usize, out: usize): void {
  let product: u64 = 1;
  for (let i: usize = 0; i < count; i++) {
    store<u64>(out + (i << 3), product);
    const x = load<u64>(a + (i << 3));
    if (x != 0) product = mul(product, x);
  }
  let rest = inverse(product);
  for (let i = count; i > 0; i--) {
    const at = (i - 1) << 3;
    const x = load<u64>(a + at);
    store<u64>(out + at, x == 0 ? 0 : mul(rest, load<u64>(out + at)));
    if (x != 0) rest = mul(rest, x);
  }
}

/** out[i] = 1/a[i], and 0 where a[i] = 0. `out` must not overlap `a`. */
export function inverseExt(a: usize, count: usize, out: usize): void {
  let product = i64x2(1, 0);
  for (let i: usize = 0; i < count; i++) {
    v128.store(out + (i << 4), product);
    const x = v128.load(a + (i << 4));
    if (v128.any_true(x)) product = extMul(product, x);
  }
  let rest = extInverse(product);
  for (let i = count; i > 0; i--) {
    const at = (i - 1) << 4;
    const x = v128.load(a + at);
    if (v128.any_true(x)) {
      v128.store(out + at, extMul(rest, v128.load(out + at)));
      rest = extMul(rest, x);
    } else {
      v128.store(out + at, x);
    }
  }
}

/** out[i] = z^i for i < count; `z` is the address of one extension element. */
export function powersExt(z: usize, count: usize, out: usize): void {
  const step = v128.load(z);
  let value = i64x2(1, 0);
  for (let i: usize = 0; i < count; i++) {
    v128.store(out + (i << 4), value);
    value = extMul(value, step);
  }
}

/**
 * out[i] += factor·y^i for i < count.
 *
 * @param y        address of a base element
 * @param factor   address of an extension element
 */
export function addPowers(y: usize, factor: usize, count: usize, out: usize): void {
  const base = load<u64>(y);
  const square = mul(base, base);
  const fourth = i64x2.splat(mul(square, square));
  const f = v128.load(factor);
  // Four sequences hide the latency of one.
  let p0 = f;
  let p1 = mulV(f, i64x2.splat(base));
  let p2 = mulV(f, i64x2.splat(square));
  let p3 = mulV(p1, i64x2.splat(square));
  const even = count & ~3;
  for (let i: usize = 0; i < even; i += 4) {
    const at = out + (i << 4);
    v128.store(at, addV(v128.load(at), p0));
    v128.store(at, addV(v128.load(at, 16), p1), 16);
    v128.store(at, addV(v128.load(at, 32), p2), 32);
    v128.store(at, addV(v128.load(at, 48), p3), 48);
    p0 = mulV(p0, fourth);
    p1 = mulV(p1, fourth);
    p2 = mulV(p2, fourth);
    p3 = mulV(p3, fourth);
  }
  for (let i = even; i < count; i++) {
    const at = out + (i << 4);
    v128.store(at, addV(v128.load(at), p0));
    p0 = mulV(p0, i64x2.splat(base));
  }
}

/** Separates an extension array into its real parts and its X-parts. */
export function splitExt(a: usize, count: usize, real: usize, imaginary: usize): void {
  for (let i: usize = 0; i < count; i++) {
    store<u64>(real + (i << 3), load<u64>(a + (i << 4)));
    store<u64>(imaginary + (i << 3), load<u64>(a + (i << 4), 8));
  }
}

/** out[i] = the field element of the integer in double i; |integer| <= 2^53. */
export function fromDoubles(a: usize, count: usize, out: usize): void {
  for (let i: usize = 0; i < count; i++) {
    const x = <i64>load<f64>(a + (i << 3));
    store<u64>(out + (i << 3), x < 0 ? P + <u64>x : <u64>x);
  }
}
