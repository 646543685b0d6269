/**
 * Exact products of whole numbers by their bytes (libs/step/SPEC.md §26): unsigned ones on the left, signed ones on the
 * right, sums in int32, which `MatMulInteger` takes in a fraction of float64's time on processors that have such products.
 */
import { emitErrorBytes } from './byte-sums.js';
import type { NetEmitter } from './emitter.js';

/** Products of bytes that meet in one number, at most: 255·128 of each stays within int32. */
export const byteTermsMax = 65_793;

/** Rows of gradient sums, at most: the low byte of an error, as unsigned as those of x, has 255·255 of each. */
export const byteSumsMax = 33_025;

/** Largest magnitude of weights: with fewer than 2^15 terms, sums of a product stay below 2^51. */
export const byteWeightMax = 1n << 20n;

/** What is added to numbers of 16 bits, so that they are two bytes without a sign. */
const byteOffset = 2 ** 15;

/** Powers of 256 that a product of numbers of two bytes with weights of three has. */
const powers = 4;

/** The bytes of 2^15 + x of numbers of 16 bits [batch, H, W, C]: uint8 [batch, H, W, 2·C], all low ones first. */
export function emitBytes(e: NetEmitter, x: string): string {
  const moved = e.add(x, e.scalar(byteOffset));
  const low = e.cast(e.cast(moved, 'int32'), 'uint8');
  const high = e.cast(e.cast(e.scale(moved, -8), 'int32'), 'uint8');
  return e.concat([low, high], 3);
}

/**
 * x·Wc + addend, rounded by s, from the rows of `emitBytes`.
 *
 * @param rows uint8 [rows, taps·2·C] @param Wc compute copies [taps·C, out] @param addend float64 [out]
 */
export function emitByteProduct(
  e: NetEmitter,
  rows: string,
  Wc: string,
  { taps, C, out, s, addend }: ByteProduct,
): string {
  const offset = e.scaled(e.sum(Wc, 0, 0), -byteOffset);
  const zero = e.cast(e.scaled(Wc, 0), 'int8');
  const weights = [0, 1, 2].map((at) => signedByte(e, Wc, at));
  const ofLow = e.concat([...weights, zero], 1);
  const ofHigh = e.concat([zero, ...weights], 1);
  const [low, high] = [ofLow, ofHigh].map((part) => e.reshape(part, [taps, C, powers * out]));
  const kernel = e.reshape(e.concat([low!, high!], 1), [taps * 2 * C, powers * out]);
  const sums = e.cast(e.node('MatMulInteger', [rows, kernel]), 'float64');
  const joined = Float64Array.from({ length: powers * out * out }, (_, i) => {
    const [row, column] = [Math.floor(i / out), i % out];
    return row % out === column ? 256 ** Math.floor(row / out) : 0;
  });
  const all = addend === undefined ? offset : e.add(offset, addend);
  return e.roundedProduct(sums, e.graph.float64([powers * out, out], joined), s, { addend: all });
}

/**
 * Gradient sums xᵀ·G.
 *
 * @param rows  bytes of x, uint8 [rows, taps·bytes·C], at most `byteSumsMax` rows, of `emitBytes` or, with one byte, as they are
 * @param G     whole numbers −2^15 … 2^15 − 1, [rows, out]
 */
export function emitByteSums(e: NetEmitter, rows: string, G: string, { taps, bytes, C, out, total }: ByteSums): string {
  const [low, high] = emitErrorBytes(e, G);
  const zeros = [-128, 0].map((zero) => e.node('Expand', [e.cast(e.scalar(zero), 'int8'), e.graph.axes(out)]));
  const left = e.transpose(rows, [1, 0]);
  const product = e.node('MatMulInteger', [left, e.concat([low, high], 1), '', e.concat(zeros, 0)]);
  const sums = e.reshape(e.cast(product, 'float64'), [taps, bytes, C, 2, out]);
  const places = Float64Array.from({ length: 2 * bytes }, (_, i) => 256 ** (Math.floor(i / 2) + (i % 2)));
  const D = e.sum(e.mul(sums, e.graph.float64([bytes, 1, 2, 1], places)), [1, 3], 0);
  const flat = e.reshape(D, [taps * C, out]);
  return bytes === 1 ? flat : e.add(flat, e.scaled(total, -byteOffset));
}

/**
 * Digit `at` of `RS(x, s)` to the base 256, −128 … 127, as int8. x and offset go by a power of 2, and the offset ends there:
 * float64 carries every sum.
 *
 * @param moved whole numbers x + offset, joined
 */
export function emitDigit(e: NetEmitter, moved: string, offset: number, s: number, at: number): string {
  const factor = 2 ** (-s - 8 * at);
  return lowByte(e, e.affine(moved, factor, carriedTo(at) + (s > 0 ? 2 ** (-1 - 8 * at) : 0) - offset * factor));
}

function signedByte(e: NetEmitter, x: string, at: number): string {
  return lowByte(e, e.add(e.scale(x, -8 * at), e.scalar(carriedTo(at))));
}

/** What the digits before it carry over to a digit, and so much that no number lies below 0. */
function carriedTo(at: number): number {
  return [0, 2 ** -1, 2 ** -1 + 2 ** -9][at]! + 2 ** (24 - 8 * at);
}

/** Of floor(x): the cast to int8 takes a number of int32 modulo 256. */
function lowByte(e: NetEmitter, x: string): string {
  return e.cast(e.cast(x, 'int32'), 'int8');
}

/**
 * x·Wc + addend, rounded by s. @param rows uint8 [rows, fan] @param digit of Wc [fan, out] @param addend float64 [out]
 */
export function emitDigitProduct(
  e: NetEmitter,
  rows: string,
  digit: (at: number) => string,
  s: number,
  addend?: string,
): string {
  const sums = [0, 1, 2].map((at) => {
    return e.scale(e.cast(e.node('MatMulInteger', [rows, digit(at)]), 'float64'), 8 * at - s);
  });
  if (addend !== undefined) sums.push(e.scale(addend, -s));
  return e.nearest(
    sums.reduce((total, sum) => e.add(total, sum)),
    s,
  );
}

interface ByteProduct {
  readonly taps: number;
  readonly C: number;
  readonly out: number;
  readonly s: number;
  readonly addend?: string;
}

interface ByteSums {
  readonly taps: number;
  readonly bytes: 1 | 2;
  readonly C: number;
  readonly out: number;
  /** `Σ_rows G`. */
  readonly total: string;
}
