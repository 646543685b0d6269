/** What each head adds to the flow, by name: one row each. */
import type { Head } from '../../commit/layout/losses/index.js';
import { accuracy } from './accuracy.js';
import type { VerifiedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export type { Cells, LossValues, ProductTerm } from './loss.js';

export const verifiedLosses: Readonly<Record<Head, VerifiedLoss>> = { 'softmax-ce': softmaxCe, mse, accuracy };
