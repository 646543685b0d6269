/** A proof in the two parts in which a contract verifies it (contracts/SPEC.md §11). */
import { concatBytes, uintBe } from '#attestation/base';
import { extBytes } from '../commit/field/bytes.js';
import type { TreeName } from '../commit/hash.js';
import type { Profile } from '../commit/params.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes, type ClimbedTree, type QueriedLevel } from './source.js';
import type { StepProofStatement } from './statement.js';
import { runVerifier } from './verify.js';

export interface SplitProof {
  /**
   * The proof with the row that each opened leaf of a level gives in the place of leaves and siblings, and without the siblings
   * of a witness that has a tree of its own.
   */
  readonly head: Uint8Array;
  /** What the first part leaves open, packed: of the witness root, sizes, places and hashes of its leaves, of each level root, sizes, ρ_row and places. */
  readonly rest: Uint8Array;
  /** Those siblings, then leaves and siblings of the levels. */
  readonly openings: Uint8Array;
}

/** Whether a contract takes proofs under the profile in two parts: with three levels no transaction has room for one. */
export function isInTwoParts({ deeper }: Pick<Profile, 'deeper'>): boolean {
  return deeper?.length === 2;
}

/** @throws Rejection as `verifyStepProof`: only a proof that holds has two parts */
export function splitProof(plan: Plan, statement: StepProofStatement, proof: Uint8Array): SplitProof {
  const source = new CutProof(proof, plan.profile.digestBytes);
  runVerifier(plan, statement, new Transcript(), source);
  return source.parts();
}

class CutProof extends ProofBytes {
  readonly #head: Uint8Array[] = [];
  readonly #rest: Uint8Array[] = [];
  readonly #openings: Uint8Array[] = [];
  /** Where the part begins that is not yet in the head, and where within it what the second part shows. */
  #from = 0;
  #opened: number | undefined;

  constructor(
    proof: Uint8Array,
    readonly digestBytes: number,
  ) {
    super(proof);
  }

  override symbols(tree: TreeName, leaf: number, count: number): Uint8Array {
    if (tree.startsWith('L')) this.#opened ??= this.offset;
    return super.symbols(tree, leaf, count);
  }

  override sibling(tree: TreeName, level: number, index: number, digestBytes: number): Uint8Array {
    if (tree === 'S') this.#opened ??= this.offset;
    return super.sibling(tree, level, index, digestBytes);
  }

  climbed({ tree, root, depth, indices, leaves }: ClimbedTree): void {
    if (tree !== 'S') return;
    this.#cut();
    this.#open(root, [depth, 0, 0, indices.length]);
    this.#rest.push(...indices.map(placeBytes), ...leaves);
  }

  queried({ level, root, indices, point, rows }: QueriedLevel): void {
    this.#cut();
    this.#head.push(...rows.map(extBytes));
    this.#open(root, [level.columnVars + level.logBlowup, level.rowVars, level.rows, indices.length]);
    this.#rest.push(...point.map(extBytes), ...indices.map(placeBytes));
  }

  /** Up to what is opened belongs to the head, from there on to the second part. */
  #cut(): void {
    const opened = this.#opened ?? this.offset;
    this.#head.push(this.bytes.subarray(this.#from, opened));
    this.#openings.push(this.bytes.subarray(opened, this.offset));
    [this.#from, this.#opened] = [this.offset, undefined];
  }

  #open(root: Uint8Array, sizes: readonly number[]): void {
    this.#rest.push(root, ...[this.digestBytes, ...sizes].map((size) => uintBe(size, 4)));
  }

  parts(): SplitProof {
    return {
      head: concatBytes(...this.#head, this.bytes.subarray(this.#from)),
      rest: concatBytes(...this.#rest),
      openings: concatBytes(...this.#openings),
    };
  }
}

const placeBytes = (index: number): Uint8Array => uintBe(index, 4);
