/**
 * The compression function of BLAKE3 of four independent inputs side by side: word i of all four share one v128 at 16·i.
 * Source: BLAKE3, "one function, fast everywhere", 2021, §2.2 to §2.4.
 */

/** Bytes of four blocks of 64, and of four chaining values of 32. */
export const BLOCKS: usize = 256;
export const CHAININGS: usize = 128;

export const CHUNK_START: i32 = 1;
export const CHUNK_END: i32 = 2;
export const PARENT: i32 = 4;
export const ROOT: i32 = 8;
export const KEYED_HASH: i32 = 16;

/** Where in a block the words of each round lie: the permutation of the words, applied again after every round. */
const schedule = memory.data<u8>([
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8, 3, 4, 10,
  12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1, 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6, 12, 13, 9, 11, 15,
  10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4, 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7, 11, 15, 5, 0, 1, 9, 8, 6, 14,
  10, 2, 12, 3, 4, 7, 13,
]);

// @ts-ignore: decorator
@inline
function plus(a: v128, b: v128): v128 {
  return i32x4.add(a, b);
}

// @ts-ignore: decorator
@inline
function turned16(a: v128): v128 {
  return v128.shuffle<u8>(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}

// @ts-ignore: decorator
@inline
function turned12(a: v128): v128 {
  return v128.or(i32x4.shr_u(a, 12), i32x4.shl(a, 20));
}

// @ts-ignore: decorator
@inline
function turned8(a: v128): v128 {
  return v128.shuffle<u8>(a, a, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12);
}

// @ts-ignore: decorator
@inline
function turned7(a: v128): v128 {
  return v128.or(i32x4.shr_u(a, 7), i32x4.shl(a, 25));
}

// @ts-ignore: decorator
@inline
function wordOf(block: usize, at: usize): v128 {
  return v128.load(block + ((<usize>load<u8>(at)) << 4));
}

/**
 * The first 8 words of what compressing a block gives, in place of the chaining values.
 *
 * @param chaining  8 v128
 * @param block     16 v128
 * @param counter   of the chunk, 0 for parents
 * @param length    bytes of the block that count
 */
export function compress(chaining: usize, block: usize, counter: i32, length: i32, flags: i32): void {
  let a0 = v128.load(chaining, 0);
  let a1 = v128.load(chaining, 16);
  let a2 = v128.load(chaining, 32);
  let a3 = v128.load(chaining, 48);
  let b0 = v128.load(chaining, 64);
  let b1 = v128.load(chaining, 80);
  let b2 = v128.load(chaining, 96);
  let b3 = v128.load(chaining, 112);
  let c0 = i32x4.splat(0x6a09e667);
  let c1 = i32x4.splat(0xbb67ae85);
  let c2 = i32x4.splat(0x3c6ef372);
  let c3 = i32x4.splat(0xa54ff53a);
  let d0 = i32x4.splat(counter);
  let d1 = i32x4.splat(0);
  let d2 = i32x4.splat(length);
  let d3 = i32x4.splat(flags);
  for (let at = schedule; at < schedule + 112; at += 16) {
    a0 = plus(plus(a0, b0), wordOf(block, at + 0));
    a1 = plus(plus(a1, b1), wordOf(block, at + 2));
    a2 = plus(plus(a2, b2), wordOf(block, at + 4));
    a3 = plus(plus(a3, b3), wordOf(block, at + 6));
    d0 = turned16(v128.xor(d0, a0));
    d1 = turned16(v128.xor(d1, a1));
    d2 = turned16(v128.xor(d2, a2));
    d3 = turned16(v128.xor(d3, a3));
    c0 = plus(c0, d0);
    c1 = plus(c1, d1);
    c2 = plus(c2, d2);
    c3 = plus(c3, d3);
    b0 = turned12(v128.xor(b0, c0));
    b1 = turned12(v128.xor(b1, c1));
    b2 = turned12(v128.xor(b2, c2));
    b3 = turned12(v128.xor(b3, c3));
    a0 = plus(plus(a0, b0), wordOf(block, at + 1));
    a1 = plus(plus(a1, b1), wordOf(block, at + 3));
    a2 = plus(plus(a2, b2), wordOf(block, at + 5));
    a3 = plus(plus(a3, b3), wordOf(block, at + 7));
    d0 = turned8(v128.xor(d0, a0));
    d1 = turned8(v128.xor(d1, a1));
    d2 = turned8(v128.xor(d2, a2));
    d3 = turned8(v128.xor(d3, a3));
    c0 = plus(c0, d0);
    c1 = plus(c1, d1);
    c2 = plus(c2, d2);
    c3 = plus(c3, d3);
    b0 = turned7(v128.xor(b0, c0));
    b1 = turned7(v128.xor(b1, c1));
    b2 = turned7(v128.xor(b2, c2));
    b3 = turned7(v128.xor(b3, c3));
    a0 = plus(plus(a0, b1), wordOf(block, at + 8));
    a1 = plus(plus(a1, b2), wordOf(block, at + 10));
    a2 = plus(plus(a2, b3), wordOf(block, at + 12));
    a3 = plus(plus(a3, b0), wordOf(block, at + 14));
    d3 = turned16(v128.xor(d3, a0));
    d0 = turned16(v128.xor(d0, a1));
    d1 = turned16(v128.xor(d1, a2));
    d2 = turned16(v128.xor(d2, a3));
    c2 = plus(c2, d3);
    c3 = plus(c3, d0);
    c0 = plus(c0, d1);
    c1 = plus(c1, d2);
    b1 = turned12(v128.xor(b1, c2));
    b2 = turned12(v128.xor(b2, c3));
    b3 = turned12(v128.xor(b3, c0));
    b0 = turned12(v128.xor(b0, c1));
    a0 = plus(plus(a0, b1), wordOf(block, at + 9));
    a1 = plus(plus(a1, b2), wordOf(block, at + 11));
    a2 = plus(plus(a2, b3), wordOf(block, at + 13));
    a3 = plus(plus(a3, b0), wordOf(block, at + 15));
    d3 = turned8(v128.xor(d3, a0));
    d0 = turned8(v128.xor(d0, a1));
    d1 = turned8(v128.xor(d1, a2));
    d2 = turned8(v128.xor(d2, a3));
    c2 = plus(c2, d3);
    c3 = plus(c3, d0);
    c0 = plus(c0, d1);
    c1 = plus(c1, d2);
    b1 = turned7(v128.xor(b1, c2));
    b2 = turned7(v128.xor(b2, c3));
    b3 = turned7(v128.xor(b3, c0));
    b0 = turned7(v128.xor(b0, c1));
  }
  v128.store(chaining, v128.xor(a0, c0), 0);
  v128.store(chaining, v128.xor(a1, c1), 16);
  v128.store(chaining, v128.xor(a2, c2), 32);
  v128.store(chaining, v128.xor(a3, c3), 48);
  v128.store(chaining, v128.xor(b0, d0), 64);
  v128.store(chaining, v128.xor(b1, d1), 80);
  v128.store(chaining, v128.xor(b2, d2), 96);
  v128.store(chaining, v128.xor(b3, d3), 112);
}
