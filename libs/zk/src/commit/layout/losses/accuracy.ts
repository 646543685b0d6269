/** No loss: which records are classed right is committed, by logits, a bound on them and a selector (libs/zk/SPEC.md §21). */
import type { CommittedLoss } from './loss.js';

export const accuracy: CommittedLoss<unknown> = {
  code: 3,
  check: () => undefined,
  table: () => ({ reciprocalBits: 0, expVars: 0, expValues: [] }),
  logits: ['YL', 'hL', 'sel', 'q'],
  rows: ['v'],
};
