/**
 * The inner loops of a commitment behind one interface; `prover/backend.ts` adds those of a proof. Base arrays hold canonical
 * field elements, one u64 each; extension arrays hold c0, c1 interleaved, two u64 per element.
 *
 * Arrays come from the backend, which may keep them in a stack of its own: what was made after a mark is gone when that
 * mark is released. Other arrays are accepted as arguments, at the price of a copy.
 */
import type { Ext } from './field/extension.js';
import type { HashName, TreeHash } from './hash.js';

/** Canonical base elements. */
export type BaseArray = BigUint64Array;
/** Canonical extension elements, c0 and c1 interleaved. */
export type ExtArray = BigUint64Array;

/** Rows of doubles that hold exact integers, `stride` doubles apart from `start` on. */
export interface DoubleRows {
  readonly data: Float64Array;
  readonly start: number;
  readonly stride: number;
}

/** What codewords are made of. */
export interface CodeRows {
  /** 2^m elements each. */
  readonly messages: readonly BaseArray[];
  /** Row-major without gaps, of at most 2^m elements each. */
  readonly random: BaseArray;
}

/** Rows of 2^m coefficients on 2^logBlowup cosets. */
export interface Code {
  readonly m: number;
  readonly logBlowup: number;
}

export interface CommittingBackend {
  /** Zeros. */
  base(count: number): BaseArray;
  ext(count: number): ExtArray;
  doubles(count: number): Float64Array;
  mark(): number;
  release(mark: number): void;

  /**
   * Codewords of rows (libs/zk/SPEC.md §9.1): Σ message_j·y^j + y^{2^m}·Σ random_j·y^j on the points of `count` cosets in
   * domain order, of one or of pairs; without them, on all. Row-major without gaps.
   */
  encodeRows(rows: CodeRows, code: Code, first?: number, count?: number): BaseArray;

  /** The leaf of each column i of rows of equal length: of be64(header) ‖ be64 of each symbol ‖ aux[32·i, 32·i + 32). */
  hashLeaves(hash: HashName, header: number, rows: readonly BaseArray[], aux?: Uint8Array): Uint8Array;

  /** The node over digests 2i and 2i + 1, which lie 32 bytes apart and are cut to digestBytes. */
  hashNodes(of: TreeHash, digests: Uint8Array): Uint8Array;

  /** keccak256(prefix ‖ be64(first + i)) for i < count; 32 bytes each. */
  counterHashes(prefix: Uint8Array, first: number, count: number): Uint8Array;

  /** The same stream from 0 on as big-endian words, those not below p skipped: `count` uniform elements. */
  randomElements(prefix: Uint8Array, count: number): BaseArray;

  /** z^x. */
  powers(z: Ext, count: number): ExtArray;
  /** out[o][i] = Σ_k base[o][k][i]·weights[k]; the middle size is that of weights. */
  bind(base: BaseArray, weights: ExtArray, inner: number): ExtArray;
  /** target[i] = the field element of values[i], an integer of magnitude ≤ 2^53. */
  setIntegers(target: BaseArray, values: Float64Array): void;
}
