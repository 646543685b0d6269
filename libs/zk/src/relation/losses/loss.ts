/** What a loss adds to the lookups and to what a proof sends (libs/zk/SPEC.md §4.3, §6, §7). */
import type { Shape } from '../../commit/layout/shape.js';
import type { LookupKind } from '../kinds.js';

export interface RelatedLoss {
  /** Its columns per class piece, before and after those of the logits' low limb, and per row. */
  readonly pieceColumns: (shape: Shape) => {
    readonly first: readonly LookupKind[];
    readonly last: readonly LookupKind[];
  };
  readonly rowColumns: readonly LookupKind[];
  /** Whether its table is among those looked up in. */
  readonly hasTable: boolean;
  /** Hidden values that F2 sends, by the virtual column of each: per class piece behind Z_L, and per row. */
  readonly hidden: { readonly pieces: readonly string[]; readonly rows: readonly string[] };
  /** Variables beyond those of a row of each product of two committed factors. */
  products(shape: Shape): readonly number[];
  /** Linear constraints of F3, gaps aside. */
  facts(shape: Shape): number;
}
