/** What each loss adds to the relation, by name: one row each. */
import type { Loss } from '#libs/step';
import type { RelatedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export const relatedLosses: Readonly<Record<Loss['kind'], RelatedLoss>> = { 'softmax-ce': softmaxCe, mse };
