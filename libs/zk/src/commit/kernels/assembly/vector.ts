/** Element by element work on arrays, batch inversion and power sequences. Base arrays: words; extension: v128. */
import { companion, extMul, fixedH, fixedL, storeFixed } from './ext';
import { add, addV, mul, mulV, P, pairAt, reduce, sub, subV } from './field';

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

/** out[i] += factor·a[i] in the extension; `factor` is the address of one element. */
export function addScaledExt(a: usize, factor: usize, count: usize, out: usize): void {
  const z0 = v128.load_splat<u64>(factor);
  const z1 = v128.load_splat<u64>(factor, 8);
  const zs = addV(z0, z1);
  for (let i: usize = 0; i < count; i += 2) {
    const first = i << 4;
    const second = min(i + 1, count - 1) << 4;
    const x = v128.load(out + first);
    const y = v128.load(out + second);
    storeFixed(v128.load(a + first), v128.load(a + second), z0, z1, zs, x, y, out + first, out + second);
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

/**
 * out[i] += s^i·(real, imaginary)[r] for i < count, r being the last m bits of i in reverse.
 *
 * @param s           address of a base element
 * @param real        2^m base elements, as `imaginary`
 */
export function addReversed(s: usize, real: usize, imaginary: usize, m: i32, count: usize, out: usize): void {
  const base = load<u64>(s);
  const top: usize = ((<usize>1) << m) >> 1;
  let power: u64 = 1;
  let from: usize = 0;
  for (let i: usize = 0; i < count; i++) {
    const value = pairAt(real + (from << 3), imaginary + (from << 3));
    const at = out + (i << 4);
    v128.store(at, addV(v128.load(at), mulV(value, i64x2.splat(power))));
    power = mul(power, base);
    let bit = top;
    while (from & bit) {
      from ^= bit;
      bit >>= 1;
    }
    from |= bit;
  }
}

/** out[i] = the field element of the integer in double i; |integer| <= 2^53. */
export function fromDoubles(a: usize, count: usize, out: usize): void {
  for (let i: usize = 0; i < count; i++) {
    const x = <i64>load<f64>(a + (i << 3));
    store<u64>(out + (i << 3), x < 0 ? P + <u64>x : <u64>x);
  }
}
