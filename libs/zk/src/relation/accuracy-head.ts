/**
 * Accuracy, the head of a forward pass: which records are classed right is committed, by logits, a bound on them and a
 * selector (libs/zk/SPEC.md §21). How far each logit is from the bound; sel ⊙ (sel − Y) and sel ⊙ q per class piece; q by what it is
 * the rest of.
 */
import type { CommittedLoss } from '../commit/layout/losses/loss.js';
import type { RelatedLoss } from './losses/loss.js';

export const committedAccuracy: Pick<CommittedLoss<unknown>, 'code' | 'logits' | 'rows'> = {
  code: 3,
  logits: ['YL', 'hL', 'sel', 'q'],
  rows: ['v'],
};

export const relatedAccuracy: RelatedLoss = {
  pieceColumns: () => ({ first: ['yr'], last: ['hL', 'q'] }),
  rowColumns: [],
  hasTable: false,
  hidden: { pieces: [], rows: [] },
  products: ({ pieces }) => pieces.flatMap(({ bits }) => [bits, bits]),
  facts: ({ pieces }) => pieces.length,
};
