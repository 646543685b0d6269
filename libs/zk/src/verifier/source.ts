/**
 * Where the verifier's messages come from: the bytes of a proof. The prover implements the same interface and answers
 * by computing, so that prover and verifier share one description of the protocol.
 */
import { Rejection } from '#attestation/base';
import { extAt, requireCanonical } from '../commit/field/bytes.js';
import type { Ext } from '../commit/field/extension.js';
import type { Point } from '../commit/field/multilinear.js';
import type { TreeName } from '../commit/hash.js';
import type { Level } from '../relation/levels.js';

export interface ProofSource {
  /** The next message of libs/zk/SPEC.md §7; its plaintext plus the pad of this index. */
  masked(pad: number): Ext;
  /** The next message in the clear. */
  clear(): Ext;
  nonce(seed: Uint8Array, bits: number): Uint8Array;
  /** `count` base elements of an opened leaf, in stored order, as big-endian words below p. */
  symbols(tree: TreeName, leaf: number, count: number): Uint8Array;
  /** The last 32 bytes of an opened leaf. */
  aux(tree: TreeName, leaf: number): Uint8Array;
  sibling(tree: TreeName, level: number, index: number, digestBytes: number): Uint8Array;
  /** Out-of-domain values of a tree, where the statement has only their hash. */
  oodValues(tree: TreeName, count: number): readonly Ext[];
  /** A Merkle root sent in the proof. */
  root(tree: TreeName): Uint8Array;
  /** Told of each tree of a commitment whose opened leaves led to its root, by who reads a proof for more than its verdict. */
  climbed?(tree: ClimbedTree): void;
  /** Told of each level that was opened, likewise. */
  queried?(level: QueriedLevel): void;
  /** @throws Rejection STEP_PROOF_LENGTH when something is left */
  finish(): void;
}

/** Opened leaves of a commitment, and the tree whose root they led to. */
export interface ClimbedTree {
  readonly tree: TreeName;
  readonly root: Uint8Array;
  readonly depth: number;
  readonly indices: readonly number[];
  /** Hash of the leaf at each index, 32 bytes each. */
  readonly leaves: readonly Uint8Array[];
}

/** Queries to a level of the opening and what its leaves gave (libs/zk/SPEC.md §9). */
export interface QueriedLevel {
  readonly level: Level;
  readonly root: Uint8Array;
  readonly indices: readonly number[];
  /** ρ_row. */
  readonly point: Point;
  /** Σ_r eq(ρ_row, r)·leaf_r at each index. */
  readonly rows: readonly Ext[];
}

/** One proof; far above the largest profile. */
export const proofBytesMax = 4 * 1024 * 1024;

/** Reads a proof front to back (libs/zk/SPEC.md §10). */
export class ProofBytes implements ProofSource {
  #offset = 0;
  readonly #view: DataView;

  /** @throws Rejection STEP_PROOF_LENGTH when the proof is longer than any profile's */
  constructor(readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length > proofBytesMax) refuseLength(`at most ${proofBytesMax} bytes`, bytes.length);
  }

  /** Bytes read. */
  get offset(): number {
    return this.#offset;
  }

  masked(): Ext {
    return this.clear();
  }

  clear(): Ext {
    return extAt(this.#view, this.#advance(16));
  }

  nonce(): Uint8Array {
    return this.#take(8);
  }

  symbols(_tree: TreeName, _leaf: number, count: number): Uint8Array {
    const words = this.#take(8 * count);
    requireCanonical(words);
    return words;
  }

  aux(_tree: TreeName, _leaf: number): Uint8Array {
    return this.#take(32);
  }

  sibling(_tree: TreeName, _level: number, _index: number, digestBytes: number): Uint8Array {
    return this.#take(digestBytes);
  }

  oodValues(_tree: TreeName, count: number): Ext[] {
    return Array.from({ length: count }, () => this.clear());
  }

  root(_tree: TreeName): Uint8Array {
    return this.#take(32);
  }

  finish(): void {
    if (this.#offset !== this.bytes.length) refuseLength(`${this.#offset} bytes`, this.bytes.length);
  }

  #take(count: number): Uint8Array {
    const start = this.#advance(count);
    return this.bytes.subarray(start, start + count);
  }

  #advance(count: number): number {
    const start = this.#offset;
    if (start + count > this.bytes.length) refuseLength(`at least ${start + count} bytes`, this.bytes.length);
    this.#offset = start + count;
    return start;
  }
}

function refuseLength(expected: string, got: number): never {
  throw new Rejection('STEP_PROOF_LENGTH', { expected, got: `${got} bytes`, rule: 'libs/zk/SPEC.md §10' });
}
