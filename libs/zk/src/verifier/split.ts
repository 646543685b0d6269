/** A proof in the two parts in which a contract verifies it (contracts/SPEC.md §11). */
import { concatBytes, uintBe } from '#attestation/base';
import { extBytes } from '../commit/field/bytes.js';
import type { Ext } from '../commit/field/extension.js';
import type { TreeName } from '../commit/hash.js';
import type { Profile } from '../commit/params.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes, type QueriedLevel } from './source.js';
import type { StepProofStatement } from './statement.js';
import { runVerifier } from './verify.js';

export interface SplitProof {
  /** The proof with the row that each opened leaf of a level gives in the place of leaves and siblings. */
  readonly head: Uint8Array;
  /** What the first part leaves open: per level its root, its sizes, ρ_row, places and rows, in words of 32 bytes. */
  readonly rest: Uint8Array;
  /** Leaves and siblings of the levels. */
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
  /** Where the part begins that is not yet in the head. */
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

  queried({ level, root, indices, point, rows }: QueriedLevel): void {
    const opened = this.#opened!;
    this.#head.push(this.bytes.subarray(this.#from, opened), ...rows.map(extBytes));
    this.#openings.push(this.bytes.subarray(opened, this.offset));
    [this.#from, this.#opened] = [this.offset, undefined];
    const sizes = [this.digestBytes, level.columnVars + level.logBlowup, level.rowVars, level.rows, indices.length];
    this.#rest.push(root, uintBe(0, 12), ...sizes.map((size) => uintBe(size, 4)));
    this.#rest.push(...point.map(wordOf), ...indices.map((index) => uintBe(index, 32)), ...rows.map(wordOf));
  }

  parts(): SplitProof {
    return {
      head: concatBytes(...this.#head, this.bytes.subarray(this.#from)),
      rest: concatBytes(...this.#rest),
      openings: concatBytes(...this.#openings),
    };
  }
}

/** As the contracts hold an extension element: c1, then c0, 16 bytes each. */
function wordOf(value: Ext): Uint8Array {
  const bytes = extBytes(value);
  const pad = new Uint8Array(8);
  return concatBytes(pad, bytes.subarray(8), pad, bytes.subarray(0, 8));
}
