/**
 * The prover's inner loops behind one interface. Base arrays hold canonical field elements, one u64 each; extension
 * arrays hold c0, c1 interleaved, two u64 per element. Implementations know no transcript and no layout.
 *
 * Two implementations: plain-backend.ts (bigints, the oracle) and kernel-backend.ts (the compiled kernels).
 *
 * Arrays come from the backend, which may keep them in a stack of its own: what was made after a mark is gone when that
 * mark is released. Other arrays are accepted as arguments, at the price of a copy.
 */
import type { BaseArray, CommittingBackend, DoubleRows, ExtArray } from '../commit/backend.js';
import type { Ext } from '../commit/field/extension.js';
import type { HashName } from '../commit/hash.js';
import type { Point } from '../commit/field/multilinear.js';

/** Of a round polynomial t(X): t(1) − t(0) and the coefficient of X² (libs/zk/SPEC.md §6). */
export interface RoundValues {
  readonly d: Ext;
  readonly e: Ext;
}

/** weights[unit·unitStride + input·inputStride]. */
export interface WeightGrid {
  readonly data: Float64Array;
  readonly unitStride: number;
  readonly inputStride: number;
  readonly units: number;
  readonly inputs: number;
}

export interface Fractions {
  readonly p: ExtArray;
  readonly q: ExtArray;
}

export interface SumTerm {
  readonly coefficient: number;
  readonly column: Float64Array;
}

export interface TensorTerm {
  readonly a: ExtArray;
  readonly b: ExtArray;
}

export interface Backend extends CommittingBackend {
  /**
   * One layer of the fraction tree: p = p0·q1 + p1·q0, q = q0·q1 over the halves of the children (libs/zk/SPEC.md §7
   * F1).
   */
  fractionLayer(p: ExtArray, q: ExtArray): Fractions;
  /** The same for leaves, whose numerators are in the base field; written to `out`. */
  leafLayer(p: BaseArray, q: ExtArray, out: Fractions): void;
  /** λ·p and q + λ·p, which take the places of p and q. */
  scaledSum(p: ExtArray, q: ExtArray, lambda: Ext): { readonly scaled: ExtArray; readonly sum: ExtArray };

  /** Round values of Σ_x eq(rest, x)·f(X,x)·g(X,x), pairing x with x + half; without rest every weight is 1. */
  productRound(rest: Point | undefined, f: ExtArray, g: ExtArray): RoundValues;
  /** The same for a0·a1 − b0·b1. */
  fractionRound(rest: Point, a0: ExtArray, a1: ExtArray, b0: ExtArray, b1: ExtArray): RoundValues;

  /** f[x] + r·(f[x + half] − f[x]): binds variable 0. The result takes f's place. */
  fold(f: ExtArray, r: Ext): ExtArray;

  /** target[x] += factor·source[x]. */
  addScaled(target: ExtArray, source: ExtArray, factor: Ext): void;
  /** target[i·|b| + j] += Σ a[i]·b[j] over the terms, which all have the same sizes |a| and |b|. */
  addTensors(target: ExtArray, terms: readonly TensorTerm[]): void;
  /** target[x] += factor·y^x. */
  addPowers(target: ExtArray, y: bigint, factor: Ext): void;
  /** target[x] += s^x·(real[r], imaginary[r]) for 2^m of each, r being the last m bits of x in reverse. */
  addReversed(target: ExtArray, real: BaseArray, imaginary: BaseArray, s: bigint): void;
  /** factor·eq(point, ·), 2^n entries. */
  eqTable(point: Point, factor: Ext): ExtArray;
  /** a[i]·b[j] at i·|b| + j. */
  outer(a: ExtArray, b: ExtArray): ExtArray;

  dot(a: ExtArray, b: ExtArray): Ext;
  /** Σ_x weights[x]·row[x] for each of several rows. */
  dots(rows: readonly BaseArray[], weights: ExtArray): ExtArray;
  /** Writes constant + Σ_k coefficients_k·columns_k. */
  combine(out: ExtArray, columns: readonly BaseArray[], coefficients: readonly Ext[], constant: Ext): void;

  /**
   * table[v] += 1 for v = Σ_k coefficient_k·column_k[i] + constant and every i, wherever v is a whole number within the
   * table.
   */
  countSums(table: Float64Array, terms: readonly SumTerm[], constant: number): void;
  /** out[unit][b] += Σ_k weights[unit][k]·x[k][b], b < batch; exact while every sum stays below 2^53. */
  sumProducts(weights: WeightGrid, x: DoubleRows, batch: number, out: DoubleRows): void;
  /** out[i][o] −= factor·Σ_b a[i][b]·g[o][b]. */
  subtractOuter(
    a: DoubleRows,
    inputs: number,
    g: DoubleRows,
    outputs: number,
    batch: number,
    factor: number,
    out: DoubleRows,
  ): void;

  /**
   * The smallest nonce, as a big-endian u64, whose hash with the seed has `bits` leading zero bits
   * (libs/zk/SPEC.md §5).
   */
  grind(hash: HashName, seed: Uint8Array, bits: number): Uint8Array;
}
