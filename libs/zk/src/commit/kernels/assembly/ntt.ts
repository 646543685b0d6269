/**
 * Reed-Solomon encoding of rows, two cosets of one row side by side.
 *
 * Coset c is s·<w> with s = 7·w_{2^(m+R)}^c. A row of 2^m coefficients is reduced modulo Y^q - z, block by block, with
 * z running through the powers of s: what is left of block b at the end is the value at position b, in bit-reversed
 * order, without a scaling or a reordering pass (libs/zk/SPEC.md §9.1). Each pass splits every block into 2, 4 or 8.
 * The coefficients of a block are multiplied by powers of the block's root first; the butterfly behind them needs only
 * w_8 = -2^24 and w_4 = 2^48, which are shifts of the unreduced limb sums of field.ts.
 */
import { addV, canonical, high32, limbH, limbL, low32, mul, mulV, P, pairAt, power, reduce, reduceLazy } from './field';

const GENERATOR: u64 = 7;

/**
 * Bit-reversed roots: out[b] = w_{2^logSize}^bitrev(b) for b < 2^(logSize-1). A prefix of it serves every smaller size.
 *
 * @param logSize   1 … 32
 */
export function rootTable(logSize: i32, out: usize): void {
  store<u64>(out, 1);
  for (let k: i32 = 0; k < logSize - 1; k++) {
    const size: usize = (<usize>1) << k;
    const root = power(GENERATOR, (P - 1) >> (k + 2));
    for (let x: usize = 0; x < size; x++) store<u64>(out + ((size + x) << 3), mul(load<u64>(out + (x << 3)), root));
  }
}

// @ts-ignore: decorator
@inline
function cosetPower(coset: usize, logDomain: i32, exponent: u64): u64 {
  const shift = mul(GENERATOR, power(power(GENERATOR, (P - 1) >> logDomain), coset));
  return power(shift, exponent);
}

/** Twiddle of two cosets as [low A, low B, high A, high B]: each half is one splat load away from the multiplier. */
// @ts-ignore: decorator
@inline
function storeTwiddle(at: usize, value: v128): void {
  v128.store(at, v128.shuffle<u32>(value, value, 0, 2, 1, 3));
}

/** Bits split by the pass that works on blocks of 2^rest coefficients. */
// @ts-ignore: decorator
@inline
function passBits(rest: i32): i32 {
  const odd = rest % 3;
  return odd == 0 ? 3 : odd;
}

/**
 * Twiddles of two cosets in the order of use: for each pass and block the root's powers 1 … 2^bits-1.
 *
 * @param m            log2 of the message length
 * @param logDomain    m + R
 * @param roots        rootTable(m) or larger
 * @param out          2^m v128
 */
export function cosetTwiddles(
  m: i32,
  logDomain: i32,
  coset: usize,
  other: usize,
  roots: usize,
  out: usize,
): void {
  let at = out;
  let done: i32 = 0;
  while (done < m) {
    const bits = passBits(m - done);
    const exponent = (<u64>1) << (m - done - bits);
    const factor = i64x2(
      cosetPower(coset, logDomain, exponent),
      cosetPower(other, logDomain, exponent),
    );
    const count = (<usize>1) << bits;
    const blocks: usize = (<usize>1) << done;
    for (let block: usize = 0; block < blocks; block++) {
      const root = mulV(v128.load_splat<u64>(roots + (block << (bits + 2))), factor);
      let value = root;
      storeTwiddle(at, value);
      at += 16;
      for (let i: usize = 2; i < count; i++) {
        value = mulV(value, root);
        storeTwiddle(at, value);
        at += 16;
      }
    }
    done += bits;
  }
}

// @ts-ignore: decorator
@inline
function twistedL(x: v128, twiddle: usize, index: usize): v128 {
  const low = v128.load_splat<u64>(twiddle + (index << 4));
  const high = v128.load_splat<u64>(twiddle + (index << 4), 8);
  return limbL(
    i64x2.extmul_low_i32x4_u(x, low),
    i64x2.extmul_low_i32x4_u(x, high),
    i64x2.extmul_high_i32x4_u(x, low),
    i64x2.extmul_high_i32x4_u(x, high),
  );
}

// @ts-ignore: decorator
@inline
function twistedH(x: v128, twiddle: usize, index: usize): v128 {
  const low = v128.load_splat<u64>(twiddle + (index << 4));
  const high = v128.load_splat<u64>(twiddle + (index << 4), 8);
  return limbH(
    i64x2.extmul_low_i32x4_u(x, low),
    i64x2.extmul_low_i32x4_u(x, high),
    i64x2.extmul_high_i32x4_u(x, low),
    i64x2.extmul_high_i32x4_u(x, high),
  );
}

// @ts-ignore: decorator
@inline
function loadHalves(at: usize): v128 {
  const x = v128.load(at);
  return v128.shuffle<u32>(x, x, 0, 2, 1, 3);
}

// @ts-ignore: decorator
@inline
function plus(a: v128, b: v128): v128 {
  return i64x2.add(a, b);
}

// @ts-ignore: decorator
@inline
function minus(a: v128, b: v128): v128 {
  return i64x2.sub(a, b);
}

function split2(block: usize, step: usize, twiddle: usize): void {
  for (let at = block; at < block + step; at += 16) {
    const first = v128.load(at);
    const l0 = low32(first);
    const h0 = high32(first);
    const x1 = loadHalves(at + step);
    const l1 = twistedL(x1, twiddle, 0);
    const h1 = twistedH(x1, twiddle, 0);
    v128.store(at, reduceLazy(plus(l0, l1), plus(h0, h1)));
    v128.store(at + step, reduceLazy(minus(l0, l1), minus(h0, h1)));
  }
}

function split4(block: usize, step: usize, twiddle: usize): void {
  for (let at = block; at < block + step; at += 16) {
    const first = v128.load(at);
    const l0 = low32(first);
    const h0 = high32(first);
    const x1 = loadHalves(at + step);
    const l1 = twistedL(x1, twiddle, 0);
    const h1 = twistedH(x1, twiddle, 0);
    const x2 = loadHalves(at + 2 * step);
    const l2 = twistedL(x2, twiddle, 1);
    const h2 = twistedH(x2, twiddle, 1);
    const x3 = loadHalves(at + 3 * step);
    const l3 = twistedL(x3, twiddle, 2);
    const h3 = twistedH(x3, twiddle, 2);
    // Multiplied by w_4 = 2^32·2^16: (L, H) -> (-H, L + H)·2^16.
    const l = minus(l1, l3);
    const h = minus(h1, h3);
    const li = i64x2.shl(h, 16);
    const hi = i64x2.shl(plus(l, h), 16);
    const ls = plus(l1, l3);
    const hs = plus(h1, h3);
    const la = plus(l0, l2);
    const ha = plus(h0, h2);
    const lb = minus(l0, l2);
    const hb = minus(h0, h2);
    v128.store(at, reduceLazy(plus(la, ls), plus(ha, hs)));
    v128.store(at + step, reduceLazy(minus(la, ls), minus(ha, hs)));
    v128.store(at + 2 * step, reduceLazy(minus(lb, li), plus(hb, hi)));
    v128.store(at + 3 * step, reduceLazy(plus(lb, li), minus(hb, hi)));
  }
}

/** Stores sum and difference of coefficients j and j + 4 at scratch + 64·j, as (L, H, L, H). */
// @ts-ignore: decorator
@inline
function fold4(scratch: usize, l0: v128, h0: v128, l4: v128, h4: v128): void {
  v128.store(scratch, plus(l0, l4));
  v128.store(scratch, plus(h0, h4), 16);
  v128.store(scratch, minus(l0, l4), 32);
  v128.store(scratch, minus(h0, h4), 48);
}

// @ts-ignore: decorator
@inline
function foldTwisted(scratch: usize, at: usize, step: usize, j: usize, twiddle: usize): void {
  const x = loadHalves(at + j * step);
  const y = loadHalves(at + (j + 4) * step);
  fold4(
    scratch + 64 * j,
    twistedL(x, twiddle, j - 1),
    twistedH(x, twiddle, j - 1),
    twistedL(y, twiddle, j + 3),
    twistedH(y, twiddle, j + 3),
  );
}

/** Eight coefficients times the powers of the root, folded once, to `scratch`: registers would not hold them. */
// @ts-ignore: decorator
@inline
function foldEight(at: usize, step: usize, twiddle: usize, scratch: usize): void {
  const first = v128.load(at);
  const x4 = loadHalves(at + 4 * step);
  fold4(scratch, low32(first), high32(first), twistedL(x4, twiddle, 3), twistedH(x4, twiddle, 3));
  foldTwisted(scratch, at, step, 1, twiddle);
  foldTwisted(scratch, at, step, 2, twiddle);
  foldTwisted(scratch, at, step, 3, twiddle);
}

function split8(block: usize, step: usize, twiddle: usize, scratch: usize): void {
  for (let at = block; at < block + step; at += 16) {
    foldEight(at, step, twiddle, scratch);
    evenQuarter(false, at, at + step, at + 2 * step, at + 3 * step, scratch);
    const odd = at + 4 * step;
    oddQuarter(false, odd, odd + step, odd + 2 * step, odd + 3 * step, scratch);
  }
}

/** The last pass over 2^m values at `buffer`: canonical, one coset to `first` and one to `second`. */
function split8Last(buffer: usize, m: i32, twiddles: usize, scratch: usize, first: usize, second: usize): void {
  const bytes: usize = (<usize>8) << m;
  let at = buffer;
  let twiddle = twiddles;
  for (let j: usize = 0; j < bytes; j += 64) {
    foldEight(at, 16, twiddle, scratch);
    evenQuarter(true, first + j, second + j, first + j + 16, second + j + 16, scratch);
    oddQuarter(true, first + j + 32, second + j + 32, first + j + 48, second + j + 48, scratch);
    at += 128;
    twiddle += 112;
  }
}

/** Two neighbouring values of both cosets, given as limb sums: in place, or separated by coset. */
// @ts-ignore: decorator
@inline
function emit(last: bool, to0: usize, to1: usize, l0: v128, h0: v128, l1: v128, h1: v128): void {
  if (last) {
    const a = reduce(l0, h0);
    const b = reduce(l1, h1);
    v128.store(to0, v128.shuffle<u64>(a, b, 0, 2));
    v128.store(to1, v128.shuffle<u64>(a, b, 1, 3));
  } else {
    v128.store(to0, reduceLazy(l0, h0));
    v128.store(to1, reduceLazy(l1, h1));
  }
}

/** X^4 = 1: outputs 0 … 3. */
// @ts-ignore: decorator
@inline
function evenQuarter(last: bool, to0: usize, to1: usize, to2: usize, to3: usize, scratch: usize): void {
  const l0 = plus(v128.load(scratch, 0), v128.load(scratch, 128));
  const h0 = plus(v128.load(scratch, 16), v128.load(scratch, 144));
  const l1 = plus(v128.load(scratch, 64), v128.load(scratch, 192));
  const h1 = plus(v128.load(scratch, 80), v128.load(scratch, 208));
  emit(last, to0, to1, plus(l0, l1), plus(h0, h1), minus(l0, l1), minus(h0, h1));
  const l2 = minus(v128.load(scratch, 0), v128.load(scratch, 128));
  const h2 = minus(v128.load(scratch, 16), v128.load(scratch, 144));
  const l3 = minus(v128.load(scratch, 64), v128.load(scratch, 192));
  const h3 = minus(v128.load(scratch, 80), v128.load(scratch, 208));
  const li = i64x2.shl(h3, 16);
  const hi = i64x2.shl(plus(l3, h3), 16);
  emit(last, to2, to3, minus(l2, li), plus(h2, hi), plus(l2, li), minus(h2, hi));
}

/** X^4 = -1: outputs 4 … 7 with X = -2^24 and X^3 = -2^72, where (L, H)·2^64 = (-L - H, L). */
// @ts-ignore: decorator
@inline
function oddQuarter(last: bool, to0: usize, to1: usize, to2: usize, to3: usize, scratch: usize): void {
  const l0 = v128.load(scratch, 32);
  const h0 = v128.load(scratch, 48);
  const l1 = v128.load(scratch, 96);
  const h1 = v128.load(scratch, 112);
  const l2 = v128.load(scratch, 160);
  const h2 = v128.load(scratch, 176);
  const l3 = v128.load(scratch, 224);
  const h3 = v128.load(scratch, 240);
  const li = i64x2.shl(h2, 16);
  const hi = i64x2.shl(plus(l2, h2), 16);
  const pl = minus(l0, li);
  const ph = plus(h0, hi);
  const vl = minus(i64x2.shl(l1, 24), i64x2.shl(plus(l3, h3), 8));
  const vh = plus(i64x2.shl(h1, 24), i64x2.shl(l3, 8));
  emit(last, to0, to1, minus(pl, vl), minus(ph, vh), plus(pl, vl), plus(ph, vh));
  const ql = plus(l0, li);
  const qh = minus(h0, hi);
  const wl = minus(i64x2.shl(l3, 24), i64x2.shl(plus(l1, h1), 8));
  const wh = plus(i64x2.shl(h3, 24), i64x2.shl(l1, 8));
  emit(last, to2, to3, minus(ql, wl), minus(qh, wh), plus(ql, wl), plus(qh, wh));
}

/** 2^m coefficients at `buffer`, the same in both lanes, to values in position order at `first` and `second`. */
function transform(buffer: usize, m: i32, twiddles: usize, scratch: usize, first: usize, second: usize): void {
  let twiddle = twiddles;
  let done: i32 = 0;
  const last = m < 3 ? m : m - 3;
  while (done < last) {
    const bits = passBits(m - done);
    const blocks: usize = (<usize>1) << done;
    const step: usize = (<usize>16) << (m - done - bits);
    const blockBytes = step << bits;
    const twiddleBytes: usize = (((<usize>1) << bits) - 1) << 4;
    for (let block: usize = 0; block < blocks; block++) {
      const at = buffer + block * blockBytes;
      if (bits == 3) split8(at, step, twiddle, scratch);
      else if (bits == 2) split4(at, step, twiddle);
      else split2(at, step, twiddle);
      twiddle += twiddleBytes;
    }
    done += bits;
  }
  if (m < 3) separate(buffer, m, first, second);
  else split8Last(buffer, m, twiddle, scratch, first, second);
}

function separate(buffer: usize, m: i32, first: usize, second: usize): void {
  for (let j: usize = 0; j < (<usize>1) << m; j += 2) {
    const a = canonical(v128.load(buffer + (j << 4)));
    const b = canonical(v128.load(buffer + (j << 4), 16));
    v128.store(first + (j << 3), v128.shuffle<u64>(a, b, 0, 2));
    v128.store(second + (j << 3), v128.shuffle<u64>(a, b, 1, 3));
  }
}

let work: usize = 0;

/** @param pointer   2·2^m + 16 v128 of thread-private memory for the largest m that will be encoded */
export function setEncodeScratch(pointer: usize): void {
  work = pointer;
}

/**
 * Encodes rows on the cosets `coset` and `coset`+1, or two rows at a time on `coset` alone.
 *
 * @param rows          u32 addresses of rows of 2^m canonical words
 * @param random        u32 addresses of `randomCount` words for each row: the coefficients from Y^(2^m) on
 * @param randomCount   0 … 2^m
 * @param m             log2 of the message length, 1 … 20
 * @param logDomain     m + R, R >= 1
 * @param cosets        1 or 2; `coset` is even where it is 2
 * @param roots         rootTable(m) or larger
 * @param out           u32 addresses of 2^logDomain words for each row
 */
export function encodeRows(
  rows: usize,
  random: usize,
  randomCount: i32,
  m: i32,
  logDomain: i32,
  rowBegin: usize,
  rowEnd: usize,
  coset: usize,
  cosets: usize,
  roots: usize,
  out: usize,
): void {
  const size: usize = (<usize>1) << m;
  const twiddles = work + (size << 4);
  const scratch = work + (size << 5);
  const last = coset + cosets - 1;
  cosetTwiddles(m, logDomain, coset, last, roots, twiddles);
  const wrap = i64x2(cosetPower(coset, logDomain, size), cosetPower(last, logDomain, size));
  for (let row = rowBegin; row < rowEnd; row += 3 - cosets) {
    const other = cosets == 2 ? row : min(row + 1, rowEnd - 1);
    const a = <usize>load<u32>(rows + (row << 2));
    const b = <usize>load<u32>(rows + (other << 2));
    for (let j: usize = 0; j < size; j++) v128.store(work + (j << 4), pairAt(a + (j << 3), b + (j << 3)));
    const tailA = <usize>load<u32>(random + (row << 2));
    const tailB = <usize>load<u32>(random + (other << 2));
    for (let j: usize = 0; j < <usize>randomCount; j++) {
      const at = work + (j << 4);
      v128.store(at, addV(v128.load(at), mulV(pairAt(tailA + (j << 3), tailB + (j << 3)), wrap)));
    }
    const first = <usize>load<u32>(out + (row << 2)) + (coset << (m + 3));
    const second = <usize>load<u32>(out + (other << 2)) + (last << (m + 3));
    transform(work, m, twiddles, scratch, first, second);
  }
}
