/** The squared loss: an error is a rounded logit, by a lookup, or a shifted one, by a linear constraint. */
import type { RelatedLoss } from './loss.js';

export const mse: RelatedLoss = {
  pieceColumns: ({ errorBits, roundingShift }) => ({
    first: ['yr'],
    last: ['hL', 'gL', ...(errorBits < 16 ? (['gLs'] as const) : []), ...(roundingShift > 0 ? (['rm'] as const) : [])],
  }),
  rowColumns: [],
  hasTable: false,
  hidden: { pieces: [], rows: [] },
  products: () => [],
  facts: ({ roundingShift, pieces }) => (roundingShift > 0 ? 0 : pieces.length),
};
