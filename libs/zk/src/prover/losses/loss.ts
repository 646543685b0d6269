/** What a loss adds to the witness and to the prover's messages (libs/zk/SPEC.md §4.1, §7 F3). */
import type { ExtArray } from '../../commit/backend.js';
import type { Columns } from '../../commit/columns.js';
import type { Shape } from '../../commit/layout/shape.js';
import type { Cells } from '../cells.js';
import type { SegmentWitness, StepState } from '../step-state.js';

export interface ExecutedLoss {
  /** From Y_L to G_L in one step, with all that is committed on the way. */
  run(state: StepState): void;
  /** Y_L by its place in (class, step, sample). */
  logit(witness: Columns): (i: number) => number;
  /** Counts its lookups in the range table. @returns multiplicities of a table of its own */
  countLookups(shape: Shape, segment: SegmentWitness, range: Float64Array): Columns;
  /** Factors of its products in F3. */
  products(cells: Cells): readonly { readonly f: ExtArray; readonly g: ExtArray }[];
}

export function count(table: Float64Array, index: number): void {
  const entry = index | 0;
  if (entry === index && entry >= 0 && entry < table.length) table[entry]! += 1;
}

/** Places of the real classes. */
export function logitCount({ classes, steps, samples }: Shape): number {
  return classes * steps * samples;
}
