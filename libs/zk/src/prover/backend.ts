/**
 * The prover's inner loops behind one interface. Base arrays hold canonical field elements, one u64 each; extension
 * arrays hold c0, c1 interleaved, two u64 per element. Implementations know no transcript and no layout.
 * Two implementations: `plainBackend` (bigint, the oracle) and the compiled kernels.
 */
import type { Ext } from '../field/extension.js';

/** Canonical base elements. */
export type BaseArray = BigUint64Array<ArrayBuffer>;
/** Canonical extension elements, c0 and c1 interleaved. */
export type ExtArray = BigUint64Array<ArrayBuffer>;

/** Values of one round polynomial t(X): t(1) − t(0) and the coefficient of X² (SPEC §6). */
export interface RoundValues {
  readonly d: Ext;
  readonly e: Ext;
}

export interface Backend {
  /**
   * Codeword of one row (SPEC §9.1): Σ message_j·y^j + y^{2^m}·Σ random_j·y^j on the 2^{m+logBlowup} points in domain
   * order. message has 2^m entries, random at most 2^m.
   */
  encodeRow(message: BaseArray, random: BaseArray, logBlowup: number): BaseArray;

  /** keccak256(be64(header) ‖ column_0[i] ‖ column_1[i] ‖ … ‖ aux[32·i, 32·i + 32)) for every i; 32 bytes each. */
  hashLeaves(header: number, columns: readonly BaseArray[], aux: Uint8Array | undefined): Uint8Array;

  /** keccak256(digest_{2i} ‖ digest_{2i+1} ‖ 0x01) of digests stored 32 bytes apart and cut to digestBytes. */
  hashNodes(digests: Uint8Array, digestBytes: number): Uint8Array;

  /** One layer of the fraction tree: p = p0·q1 + p1·q0, q = q0·q1 over the halves of the children (SPEC §7 F1). */
  gkrLayer(p: ExtArray, q: ExtArray): { readonly p: ExtArray; readonly q: ExtArray };

  /** Round values of Σ_x eq(x)·f(X,x)·g(X,x); f and g have twice the length of eq and pair x with x + half. */
  sumcheckRound(eq: ExtArray, f: ExtArray, g: ExtArray): RoundValues;

  /** f[x] + r·(f[x + half] − f[x]): binds variable 0. */
  fold(f: ExtArray, r: Ext): ExtArray;

  /** a[x] + b·factor for whole arrays of extension elements. */
  addScaled(a: ExtArray, b: ExtArray, factor: Ext): ExtArray;

  /** eq(point, ·), 2^n entries. */
  eqTable(point: readonly Ext[]): ExtArray;

  /**
   * Contracts the middle index of base[outer][middle][inner] with weights: out[o][i] = Σ_k base[o][k][i]·weights[k].
   * With outer = inner = 1 this is a dot product.
   */
  bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray;

  /** The smallest nonce (as a big-endian u64) whose hash with the seed has `bits` leading zero bits (SPEC §5). */
  grind(seed: Uint8Array, bits: number): Uint8Array;
}
