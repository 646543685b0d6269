/** What each head adds to the relation, by name: one row each. */
import type { Head } from '../../commit/layout/losses/index.js';
import { accuracy } from './accuracy.js';
import type { RelatedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export const relatedLosses: Readonly<Record<Head, RelatedLoss>> = { 'softmax-ce': softmaxCe, mse, accuracy };
