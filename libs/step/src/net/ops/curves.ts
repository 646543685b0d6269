/**
 * Values of the smooth activations at i·2^-in by whole numbers alone (libs/step/SPEC.md §22). All four come from the upper
 * tail q = 1 − F(x) and the density p = F'(x) of one symmetric distribution: gelu and silu are x·F(x) of the normal and
 * the logistic one, sigmoid is F of the logistic, and tanh is 2·F(2x) − 1 of it.
 */
import { isqrt } from '../../integers.js';
import { expAt, one, piAt, precision } from './series.js';

export type Curve = 'gelu' | 'silu' | 'tanh' | 'sigmoid';

/** A value or slope that lies strictly between two numbers at 2^-precision, or is the one that both equal. */
export interface Between {
  readonly low: bigint;
  readonly high: bigint;
}

interface CurvePoint {
  readonly value: Between;
  readonly slope: Between;
}

/** Twice the error of every tail and density times the largest |x|: far more than the sums below lose. */
const error = 1n << 112n;
/** No |x| of a table is larger. */
export const indexMax = 1 << 15;

/** @yields the points at i·2^-in and −i·2^-in, i = 1 … 2^15 @param fraction `in`, 0 … 24 */
export function* curvePairs(
  curve: Curve,
  fraction: number,
): Generator<{ readonly i: number; readonly right: CurvePoint; readonly left: CurvePoint }> {
  const tails = curve === 'gelu' ? normalTails(fraction) : logisticTails(fraction, curve === 'tanh' ? 2 : 1);
  let i = 0;
  for (const { q, p } of tails) {
    i++;
    const x = (BigInt(i) << precision) >> BigInt(fraction);
    const [xq, xp] = [(x * q) >> precision, (x * p) >> precision];
    if (curve === 'sigmoid') yield { i, right: point(one - q, p), left: point(q, p) };
    else if (curve === 'tanh') yield { i, right: point(one - 2n * q, 4n * p), left: point(2n * q - one, 4n * p) };
    // Where the tail is too small to be seen, x·F(x) still stays below x, and −x·(1 − F(x)) below 0.
    else yield { i, right: point(x - xq, one - q + xp, x), left: point(-xq, q - xp, 0n) };
  }
}

/** The point at 0, where all is exact. */
export function curveOrigin(curve: Curve): CurvePoint {
  const exact = (value: bigint): Between => ({ low: value, high: value });
  const half = one >> 1n;
  if (curve === 'sigmoid') return { value: exact(half), slope: exact(half >> 1n) };
  return { value: exact(0n), slope: exact(curve === 'tanh' ? one : half) };
}

/** @param below strict upper bound of the value */
function point(value: bigint, slope: bigint, below?: bigint): CurvePoint {
  const high = value + error;
  return {
    value: { low: value - error, high: below !== undefined && below < high ? below : high },
    slope: { low: slope - error, high: slope + error },
  };
}

interface Tail {
  readonly q: bigint;
  readonly p: bigint;
}

/** Of 1/(1 + e^-x) at times·i·2^-fraction. */
function* logisticTails(fraction: number, times: 1 | 2): Generator<Tail> {
  const base = expAt(fraction);
  const factor = times === 1 ? base : (base * base) >> precision;
  let e = one;
  for (let i = 1; i <= indexMax; i++) {
    e = (e * factor) >> precision;
    const q = e === 0n ? 0n : (e << precision) / (one + e);
    yield { q, p: (q * (one - q)) >> precision };
  }
}

/** Beyond it the normal tail and density times any |x| of a table are below the error. */
const normalEnd = 12;

/** Of the normal distribution at i·2^-fraction, each from the one before by the density's Taylor series. */
function* normalTails(fraction: number): Generator<Tail> {
  const square = 2 * fraction;
  // The density falls by e^-(h²/2), then by e^-(h²) more at every further step h.
  let ratio = expAt(square + 1);
  const falling = expAt(square);
  let p = isqrt((one * one * one) / (2n * piAt()));
  let q = one >> 1n;
  for (let i = 1; i <= indexMax; i++) {
    if (i > normalEnd * 2 ** fraction) {
      yield { q: 0n, p: 0n };
      continue;
    }
    q -= (p * meanDensity(BigInt(i - 1), square)) >> (precision + BigInt(fraction));
    p = (p * ratio) >> precision;
    ratio = (ratio * falling) >> precision;
    yield { q, p };
  }
}

/** Mean over x … x + h of the density as a share of its value at x = i·h, with h² = 2^-square. */
function meanDensity(i: bigint, square: number): bigint {
  let [before, term, sum] = [0n, one, one];
  for (let k = 1n; term !== 0n || before !== 0n; k++) {
    [before, term] = [term, -(term * i + before) / (k << BigInt(square))];
    sum += term / (k + 1n);
  }
  return sum;
}
