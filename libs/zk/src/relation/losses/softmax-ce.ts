/** Softmax cross-entropy: exponentials by lookup; ε ⊙ ι and sel ⊙ d per class piece, ι ⊙ S per row; one class is selected. */
import type { RelatedLoss } from './loss.js';

export const softmaxCe: RelatedLoss = {
  pieceColumns: () => ({ first: ['exp', 'yr'], last: ['hL', 'Rp', 'pr'] }),
  rowColumns: ['iota', 'r', 'sr'],
  hasTable: true,
  hidden: { pieces: ['E'], rows: ['Q'] },
  products: ({ pieces }) => [...pieces.flatMap(({ bits }) => [bits, bits]), 0],
  facts: () => 1,
};
