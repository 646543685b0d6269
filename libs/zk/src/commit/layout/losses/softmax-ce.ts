/** Softmax cross-entropy in the committed layout: distances, exponentials and selectors, a maximum and a reciprocal a row. */
import { expTable, type Loss } from '#libs/step';
import { log2Ceil } from '../log2.js';
import { refuse } from '../refuse.js';
import type { CommittedLoss } from './loss.js';

export const softmaxCe: CommittedLoss<Extract<Loss, { kind: 'softmax-ce' }>> = {
  code: 1,
  check({ E, k }, { g }) {
    if (E === g && k === g + 16) return;
    refuse('STEP_PLAN', 'E = g_L and k = g_L + 16', `${E}, ${k}`, 'libs/zk/SPEC.md §2.2, §4.1');
  },
  table({ E, k }, { aOut }) {
    const table = expTable(E, aOut);
    const expVars = log2Ceil(table.findLastIndex((value) => value !== 0) + 1);
    return { reciprocalBits: k, expVars, expValues: Array.from(table.slice(0, 2 ** expVars)) };
  },
  logits: ['d', 'hL', 'eps', 'sel', 'GL', 'w'],
  rows: ['mu', 'iota'],
};
