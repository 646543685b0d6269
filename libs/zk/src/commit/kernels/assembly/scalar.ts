/** Exports of the module for field elements (field/arithmetic.ts): single ones as arguments, many in a memory of its own. */
import { add, mul, sub } from './field';

export { add, mul, sub };

/** First byte that a caller may use. */
export const heapBase: usize = (__heap_base + 15) & ~15;

let imaginary: u64 = 0;

/** Real part of (a0 + a1·X)·(b0 + b1·X), X^2 = 7; `xPart` gives the other. */
export function mulExt(a0: u64, a1: u64, b0: u64, b1: u64): u64 {
  imaginary = add(mul(a0, b1), mul(a1, b0));
  return add(mul(a0, b0), mul(7, mul(a1, b1)));
}

let sum0: u64 = 0;
let sum1: u64 = 0;

/** Adds a product to the sum that `sumExt` gives and clears. */
export function addProduct(a0: u64, a1: u64, b0: u64, b1: u64): void {
  sum0 = add(sum0, mulExt(a0, a1, b0, b1));
  sum1 = add(sum1, imaginary);
}

export function sumExt(): u64 {
  const real = sum0;
  imaginary = sum1;
  sum0 = 0;
  sum1 = 0;
  return real;
}

/** X part of the last `mulExt` or `sumExt`. */
export function xPart(): u64 {
  return imaginary;
}

/** Words of a proof, and what is weighed with them, are big-endian. */
// @ts-ignore: decorator
@inline
function word(at: usize): u64 {
  return bswap<u64>(load<u64>(at));
}

/**
 * Per message Σ weights_k·word_k: `length` weights of two words each, `count` messages of as many words one behind the
 * other, `count` sums of two words each.
 */
export function weigh(weights: usize, length: usize, messages: usize, count: usize, out: usize): void {
  for (let i: usize = 0; i < count; i++) {
    let real: u64 = 0;
    let cross: u64 = 0;
    for (let k: usize = 0; k < length; k++) {
      const value = word(messages + 8 * (i * length + k));
      real = add(real, mul(word(weights + 16 * k), value));
      cross = add(cross, mul(word(weights + 16 * k + 8), value));
    }
    store<u64>(out + 16 * i, bswap<u64>(real));
    store<u64>(out + 16 * i + 8, bswap<u64>(cross));
  }
}

/**
 * One more part of Horner's rule from the top, at many points: `count` coefficients of two words each, lowest first, in
 * this machine's order, and per point three words: the point and the value so far.
 */
export function hornerPart(coefficients: usize, count: usize, states: usize, points: usize): void {
  for (let state = states; state < states + 24 * points; state += 24) {
    const point = load<u64>(state);
    let real = load<u64>(state, 8);
    let cross = load<u64>(state, 16);
    for (let at = coefficients + 16 * count; at > coefficients; ) {
      at -= 16;
      real = add(mul(real, point), load<u64>(at));
      cross = add(mul(cross, point), load<u64>(at, 8));
    }
    store<u64>(state, real, 8);
    store<u64>(state, cross, 16);
  }
}
