/**
 * keccak-f[1600] of two independent states side by side: lane i of state A and of state B share one v128 at 16·i.
 * The state stays in memory and is written plane by plane into a second buffer; 25 locals would spill
 * (libs/zk/SPEC.md §14). Source: FIPS 202 §3; keccak-256 is the original padding 0x01, as in the EVM.
 */

/** Bytes of one pair of states. */
export const PAIR: usize = 400;
/** keccak-256 absorbs 17 words a block. */
export const RATE_WORDS: i32 = 17;

const roundConstants = memory.data<u64>([
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
  0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
  0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
  0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
  0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
]);

// @ts-ignore: decorator
@inline
function rotate(a: v128, bits: i32): v128 {
  return v128.or(i64x2.shl(a, bits), i64x2.shr_u(a, 64 - bits));
}

/**
 * Permutes the pair of states at `state`, in place. Two rounds are unrolled with the column parities in registers:
 * small functions that read the parities again take 16 % longer.
 *
 * @param state   25 v128; the 25 v128 behind it are overwritten
 */
export function permute(state: usize): void {
  const other = state + PAIR;
  let c0 = v128.xor(v128.load(state, 0), v128.load(state, 80));
  c0 = v128.xor(c0, v128.load(state, 160));
  c0 = v128.xor(c0, v128.load(state, 240));
  c0 = v128.xor(c0, v128.load(state, 320));
  let c1 = v128.xor(v128.load(state, 16), v128.load(state, 96));
  c1 = v128.xor(c1, v128.load(state, 176));
  c1 = v128.xor(c1, v128.load(state, 256));
  c1 = v128.xor(c1, v128.load(state, 336));
  let c2 = v128.xor(v128.load(state, 32), v128.load(state, 112));
  c2 = v128.xor(c2, v128.load(state, 192));
  c2 = v128.xor(c2, v128.load(state, 272));
  c2 = v128.xor(c2, v128.load(state, 352));
  let c3 = v128.xor(v128.load(state, 48), v128.load(state, 128));
  c3 = v128.xor(c3, v128.load(state, 208));
  c3 = v128.xor(c3, v128.load(state, 288));
  c3 = v128.xor(c3, v128.load(state, 368));
  let c4 = v128.xor(v128.load(state, 64), v128.load(state, 144));
  c4 = v128.xor(c4, v128.load(state, 224));
  c4 = v128.xor(c4, v128.load(state, 304));
  c4 = v128.xor(c4, v128.load(state, 384));
  let b0: v128, b1: v128, b2: v128, b3: v128, b4: v128;
  let d0: v128, d1: v128, d2: v128, d3: v128, d4: v128;
  let t: v128;
  for (let round: usize = 0; round < 24; round += 2) {
    d0 = v128.xor(c4, rotate(c1, 1));
    d1 = v128.xor(c0, rotate(c2, 1));
    d2 = v128.xor(c1, rotate(c3, 1));
    d3 = v128.xor(c2, rotate(c4, 1));
    d4 = v128.xor(c3, rotate(c0, 1));
    b0 = v128.xor(v128.load(state, 0), d0);
    b1 = rotate(v128.xor(v128.load(state, 96), d1), 44);
    b2 = rotate(v128.xor(v128.load(state, 192), d2), 43);
    b3 = rotate(v128.xor(v128.load(state, 288), d3), 21);
    b4 = rotate(v128.xor(v128.load(state, 384), d4), 14);
    t = v128.xor(v128.xor(b0, v128.andnot(b2, b1)), v128.load_splat<u64>(roundConstants + (round << 3)));
    v128.store(other, t, 0);
    c0 = t;
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(other, t, 16);
    c1 = t;
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(other, t, 32);
    c2 = t;
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(other, t, 48);
    c3 = t;
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(other, t, 64);
    c4 = t;
    b0 = rotate(v128.xor(v128.load(state, 48), d3), 28);
    b1 = rotate(v128.xor(v128.load(state, 144), d4), 20);
    b2 = rotate(v128.xor(v128.load(state, 160), d0), 3);
    b3 = rotate(v128.xor(v128.load(state, 256), d1), 45);
    b4 = rotate(v128.xor(v128.load(state, 352), d2), 61);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(other, t, 80);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(other, t, 96);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(other, t, 112);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(other, t, 128);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(other, t, 144);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(state, 16), d1), 1);
    b1 = rotate(v128.xor(v128.load(state, 112), d2), 6);
    b2 = rotate(v128.xor(v128.load(state, 208), d3), 25);
    b3 = rotate(v128.xor(v128.load(state, 304), d4), 8);
    b4 = rotate(v128.xor(v128.load(state, 320), d0), 18);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(other, t, 160);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(other, t, 176);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(other, t, 192);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(other, t, 208);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(other, t, 224);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(state, 64), d4), 27);
    b1 = rotate(v128.xor(v128.load(state, 80), d0), 36);
    b2 = rotate(v128.xor(v128.load(state, 176), d1), 10);
    b3 = rotate(v128.xor(v128.load(state, 272), d2), 15);
    b4 = rotate(v128.xor(v128.load(state, 368), d3), 56);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(other, t, 240);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(other, t, 256);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(other, t, 272);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(other, t, 288);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(other, t, 304);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(state, 32), d2), 62);
    b1 = rotate(v128.xor(v128.load(state, 128), d3), 55);
    b2 = rotate(v128.xor(v128.load(state, 224), d4), 39);
    b3 = rotate(v128.xor(v128.load(state, 240), d0), 41);
    b4 = rotate(v128.xor(v128.load(state, 336), d1), 2);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(other, t, 320);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(other, t, 336);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(other, t, 352);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(other, t, 368);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(other, t, 384);
    c4 = v128.xor(c4, t);
    d0 = v128.xor(c4, rotate(c1, 1));
    d1 = v128.xor(c0, rotate(c2, 1));
    d2 = v128.xor(c1, rotate(c3, 1));
    d3 = v128.xor(c2, rotate(c4, 1));
    d4 = v128.xor(c3, rotate(c0, 1));
    b0 = v128.xor(v128.load(other, 0), d0);
    b1 = rotate(v128.xor(v128.load(other, 96), d1), 44);
    b2 = rotate(v128.xor(v128.load(other, 192), d2), 43);
    b3 = rotate(v128.xor(v128.load(other, 288), d3), 21);
    b4 = rotate(v128.xor(v128.load(other, 384), d4), 14);
    t = v128.xor(v128.xor(b0, v128.andnot(b2, b1)), v128.load_splat<u64>(roundConstants + (round << 3), 8));
    v128.store(state, t, 0);
    c0 = t;
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(state, t, 16);
    c1 = t;
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(state, t, 32);
    c2 = t;
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(state, t, 48);
    c3 = t;
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(state, t, 64);
    c4 = t;
    b0 = rotate(v128.xor(v128.load(other, 48), d3), 28);
    b1 = rotate(v128.xor(v128.load(other, 144), d4), 20);
    b2 = rotate(v128.xor(v128.load(other, 160), d0), 3);
    b3 = rotate(v128.xor(v128.load(other, 256), d1), 45);
    b4 = rotate(v128.xor(v128.load(other, 352), d2), 61);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(state, t, 80);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(state, t, 96);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(state, t, 112);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(state, t, 128);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(state, t, 144);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(other, 16), d1), 1);
    b1 = rotate(v128.xor(v128.load(other, 112), d2), 6);
    b2 = rotate(v128.xor(v128.load(other, 208), d3), 25);
    b3 = rotate(v128.xor(v128.load(other, 304), d4), 8);
    b4 = rotate(v128.xor(v128.load(other, 320), d0), 18);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(state, t, 160);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(state, t, 176);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(state, t, 192);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(state, t, 208);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(state, t, 224);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(other, 64), d4), 27);
    b1 = rotate(v128.xor(v128.load(other, 80), d0), 36);
    b2 = rotate(v128.xor(v128.load(other, 176), d1), 10);
    b3 = rotate(v128.xor(v128.load(other, 272), d2), 15);
    b4 = rotate(v128.xor(v128.load(other, 368), d3), 56);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(state, t, 240);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(state, t, 256);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(state, t, 272);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(state, t, 288);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(state, t, 304);
    c4 = v128.xor(c4, t);
    b0 = rotate(v128.xor(v128.load(other, 32), d2), 62);
    b1 = rotate(v128.xor(v128.load(other, 128), d3), 55);
    b2 = rotate(v128.xor(v128.load(other, 224), d4), 39);
    b3 = rotate(v128.xor(v128.load(other, 240), d0), 41);
    b4 = rotate(v128.xor(v128.load(other, 336), d1), 2);
    t = v128.xor(b0, v128.andnot(b2, b1));
    v128.store(state, t, 320);
    c0 = v128.xor(c0, t);
    t = v128.xor(b1, v128.andnot(b3, b2));
    v128.store(state, t, 336);
    c1 = v128.xor(c1, t);
    t = v128.xor(b2, v128.andnot(b4, b3));
    v128.store(state, t, 352);
    c2 = v128.xor(c2, t);
    t = v128.xor(b3, v128.andnot(b0, b4));
    v128.store(state, t, 368);
    c3 = v128.xor(c3, t);
    t = v128.xor(b4, v128.andnot(b1, b0));
    v128.store(state, t, 384);
    c4 = v128.xor(c4, t);
  }
}
