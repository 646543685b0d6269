/** The losses that can be committed to, by name: one row each. */
import type { Loss } from '#libs/step';
import { refuse } from '../refuse.js';
import type { CommittedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export type { LossTable } from './loss.js';

const losses: { readonly [K in Loss['kind']]: CommittedLoss<Extract<Loss, { kind: K }>> } = {
  'softmax-ce': softmaxCe,
  mse,
};

/** @throws Rejection STEP_PLAN */
export function committedLoss(kind: Loss['kind']): CommittedLoss<Loss> {
  if (Object.hasOwn(losses, kind)) return losses[kind] as CommittedLoss<Loss>;
  return refuse('STEP_PLAN', Object.keys(losses).join(' or '), kind, 'libs/zk/SPEC.md §2.2, §4.1');
}
