/** Accuracy: how far each logit is from the bound; sel ⊙ (sel − Y) and sel ⊙ q per class piece; q by what it is the rest of. */
import type { RelatedLoss } from './loss.js';

export const accuracy: RelatedLoss = {
  pieceColumns: () => ({ first: ['yr'], last: ['hL', 'q'] }),
  rowColumns: [],
  hasTable: false,
  hidden: { pieces: [], rows: [] },
  products: ({ pieces }) => pieces.flatMap(({ bits }) => [bits, bits]),
  facts: ({ pieces }) => pieces.length,
};
