/** What each loss adds to the flow, by name: one row each. */
import type { Loss } from '#libs/step';
import type { VerifiedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export type { Cells, LossValues, ProductTerm } from './loss.js';

export const verifiedLosses: Readonly<Record<Loss['kind'], VerifiedLoss>> = { 'softmax-ce': softmaxCe, mse };
