/** What each loss adds to a proof's making, by name: one row each. */
import type { Loss } from '#libs/step';
import type { ExecutedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export const executedLosses: Readonly<Record<Loss['kind'], ExecutedLoss>> = { 'softmax-ce': softmaxCe, mse };
