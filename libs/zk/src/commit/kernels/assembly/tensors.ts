/**
 * Sums of outer products. Two entries of a row lie in the lanes of a vector, their parts apart, and a product of the
 * extension takes three of the base field: with s = (x0 + x1)·(f0 + f1), x·f = x0·f0 + 7·x1·f1 + (s - x0·f0 - x1·f1)·X.
 */
import { storeSums } from './ext';
import { add, addV, halves, halvesH, halvesL, halvesSwapped } from './field';

/** Most terms of one `addTensors`. */
export const TENSOR_TERMS: usize = 32;
/** Of one factor: x0, x1 and their sum, each in the order of two multiplications. */
const FACTOR: usize = 96;
/** Bytes of thread-private memory that `addTensors` uses. */
export const FACTOR_BYTES: usize = TENSOR_TERMS * FACTOR;
/** Of two entries of a row that is ready to be multiplied. */
const PAIR: usize = 48;

let factors: usize = 0;

export function setFactors(pointer: usize): void {
  factors = pointer;
}

/**
 * Makes rows ready for `addTensors`.
 *
 * @param b       `terms` u32 addresses of `count` extension elements
 * @param out     48 bytes for each term and two entries, or the last one of an odd count
 */
export function splitTensors(b: usize, terms: usize, count: usize, out: usize): void {
  let at = out;
  for (let j: usize = 0; j < count; j += 2) {
    const other = min(j + 1, count - 1);
    for (let k: usize = 0; k < terms; k++) {
      const row = <usize>load<u32>(b + (k << 2));
      const x = v128.load(row + (j << 4));
      const y = v128.load(row + (other << 4));
      const first = v128.shuffle<u64>(x, y, 0, 2);
      const second = v128.shuffle<u64>(x, y, 1, 3);
      v128.store(at, halves(first));
      v128.store(at, halves(second), 16);
      v128.store(at, halves(addV(first, second)), 32);
      at += PAIR;
    }
  }
}

/**
 * out[i·count + j] += Σ_k a_k[i]·b_k[j] in the extension for i in begin … end-1 and j < count.
 *
 * @param a       `terms` u32 addresses of arrays
 * @param rows    what `splitTensors` made of the b_k
 * @param terms   1 … TENSOR_TERMS
 */
export function addTensors(
  a: usize,
  rows: usize,
  terms: usize,
  begin: usize,
  end: usize,
  count: usize,
  out: usize,
): void {
  const last = factors + terms * FACTOR;
  for (let i = begin; i < end; i++) {
    for (let k: usize = 0; k < terms; k++) {
      const f = <usize>load<u32>(a + (k << 2)) + (i << 4);
      const at = factors + k * FACTOR;
      const f0 = load<u64>(f);
      const f1 = load<u64>(f, 8);
      placeFactor(at, f0);
      placeFactor(at + 32, f1);
      placeFactor(at + 64, add(f0, f1));
    }
    const row = out + ((i * count) << 4);
    let from = rows;
    for (let j: usize = 0; j + 1 < count; j += 2) {
      addPair(from, last, row + (j << 4), row + (j << 4) + 16);
      from += terms * PAIR;
    }
    if (count & 1) {
      const at = row + ((count - 1) << 4);
      addPair(from, last, at, at);
    }
  }
}

// @ts-ignore: decorator
@inline
function placeFactor(at: usize, value: u64): void {
  const pair = i64x2.splat(value);
  v128.store(at, halves(pair));
  v128.store(at, halvesSwapped(pair), 16);
}

/** Two entries of a row, or one where `first` and `second` are one place. */
// @ts-ignore: decorator
@inline
function addPair(rows: usize, last: usize, first: usize, second: usize): void {
  let l0 = i64x2.splat(0);
  let h0 = i64x2.splat(0);
  let l1 = i64x2.splat(0);
  let h1 = i64x2.splat(0);
  let ls = i64x2.splat(0);
  let hs = i64x2.splat(0);
  let from = rows;
  for (let at = factors; at < last; at += FACTOR) {
    l0 = i64x2.add(l0, timesL(from, at));
    h0 = i64x2.add(h0, timesH(from, at));
    l1 = i64x2.add(l1, timesL(from + 16, at + 32));
    h1 = i64x2.add(h1, timesH(from + 16, at + 32));
    ls = i64x2.add(ls, timesL(from + 32, at + 64));
    hs = i64x2.add(hs, timesH(from + 32, at + 64));
    from += PAIR;
  }
  storeSums(l0, h0, l1, h1, ls, hs, v128.load(first), v128.load(second), first, second);
}

// @ts-ignore: decorator
@inline
function timesL(x: usize, factor: usize): v128 {
  return halvesL(v128.load(x), v128.load(factor), v128.load(factor, 16));
}

// @ts-ignore: decorator
@inline
function timesH(x: usize, factor: usize): v128 {
  return halvesH(v128.load(x), v128.load(factor), v128.load(factor, 16));
}
