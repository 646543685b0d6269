/**
 * Accuracy, the head of a forward pass: logits, a bound on them that is looked up as a 16-bit value, how far each is below
 * it, likewise, and a selector; sel ⊙ (sel − Y) and sel ⊙ q per class piece (libs/zk/SPEC.md §21).
 */
import type { CommittedLoss } from '../commit/layout/losses/loss.js';
import type { RelatedLoss } from './losses/loss.js';

export const committedAccuracy: Pick<CommittedLoss<unknown>, 'code' | 'logits' | 'rows'> = {
  code: 3,
  logits: ['YL', 'hL', 'sel', 'q'],
  rows: ['v'],
};

export const relatedAccuracy: RelatedLoss = {
  pieceColumns: () => ({ first: [], last: ['hL', 'q'] }),
  rowColumns: ['vr'],
  hasTable: false,
  hidden: { pieces: [], rows: [] },
  products: ({ pieces }) => pieces.flatMap(({ bits }) => [bits, bits]),
  facts: ({ pieces }) => pieces.length,
};
