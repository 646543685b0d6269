/** The squared loss in the committed layout: logits, their limb and errors. */
import type { Loss } from '#libs/step';
import type { CommittedLoss } from './loss.js';

export const mse: CommittedLoss<Extract<Loss, { kind: 'mse' }>> = {
  code: 2,
  check: () => undefined,
  table: () => ({ reciprocalBits: 0, expVars: 0, expValues: [] }),
  logits: ['YL', 'hL', 'GL'],
  rows: [],
};
