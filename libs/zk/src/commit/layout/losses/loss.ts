/** What a loss adds to what is committed (libs/zk/SPEC.md §2.2, §4.1). */
import type { LayerScale } from '#libs/step';
import type { BlockKind } from '../kinds.js';

/** The constants of a loss; 0 and no values where it has no table. */
export interface LossTable {
  /** k: the reciprocal of 2^k is taken per row. */
  readonly reciprocalBits: number;
  /** x: the exp table is zero from 2^x on. */
  readonly expVars: number;
  /** T_exp[0 … 2^expVars). */
  readonly expValues: readonly number[];
}

/** @typeParam L what a manifest says of the loss */
export interface CommittedLoss<L> {
  /** Its number in digests. */
  readonly code: number;
  /** @throws Rejection STEP_PLAN when no proof of version 1 can be of it */
  check(loss: L, last: LayerScale): void;
  table(loss: L, last: LayerScale): LossTable;
  /** Witness blocks over (class, step, sample), and over (step, sample). */
  readonly logits: readonly BlockKind[];
  readonly rows: readonly BlockKind[];
}
