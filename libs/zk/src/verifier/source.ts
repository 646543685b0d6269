/**
 * Where the verifier's messages come from: the bytes of a proof. The prover implements the same interface and answers
 * by computing, so that prover and verifier share one description of the protocol.
 */
import { Rejection } from '#attestation';
import { readBase, readExt } from '../field/bytes.js';
import type { Ext } from '../field/extension.js';
import type { TreeName } from '../merkle/hash.js';

export interface ProofSource {
  /** The next message of SPEC §7; its plaintext plus the pad of this index. */
  masked(pad: number): Ext;
  /** The next message in the clear. */
  clear(): Ext;
  nonce(seed: Uint8Array, bits: number): Uint8Array;
  /** `count` base elements of an opened leaf, in stored order. */
  symbols(tree: TreeName, leaf: number, count: number): bigint[];
  /** The last 32 bytes of an opened leaf. */
  aux(tree: TreeName, leaf: number): Uint8Array;
  sibling(tree: TreeName, level: number, index: number, digestBytes: number): Uint8Array;
  /** A Merkle root sent in the proof. */
  root(tree: TreeName): Uint8Array;
  /** @throws Rejection STEP_PROOF_LENGTH when something is left */
  finish(): void;
}

/** One proof; far above the largest profile. */
export const proofBytesMax = 4 * 1024 * 1024;

/** Reads a proof front to back (SPEC §10). */
export class ProofBytes implements ProofSource {
  #offset = 0;

  /** @throws Rejection STEP_PROOF_LENGTH when the proof is longer than any profile's */
  constructor(readonly bytes: Uint8Array) {
    if (bytes.length > proofBytesMax) refuseLength(`at most ${proofBytesMax} bytes`, bytes.length);
  }

  masked(): Ext {
    return this.clear();
  }

  clear(): Ext {
    return readExt(this.bytes, this.#advance(16));
  }

  nonce(): Uint8Array {
    return this.#take(8);
  }

  symbols(_tree: TreeName, _leaf: number, count: number): bigint[] {
    return Array.from({ length: count }, () => readBase(this.bytes, this.#advance(8)));
  }

  aux(): Uint8Array {
    return this.#take(32);
  }

  sibling(_tree: TreeName, _level: number, _index: number, digestBytes: number): Uint8Array {
    return this.#take(digestBytes);
  }

  root(): Uint8Array {
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
  throw new Rejection('STEP_PROOF_LENGTH', { expected, got: `${got} bytes`, rule: 'step-proof §10' });
}
