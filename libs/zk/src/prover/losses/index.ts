/** What each head adds to a proof's making, by name: one row each. */
import type { Head } from '../../commit/layout/losses/index.js';
import { accuracy } from './accuracy.js';
import type { ExecutedLoss } from './loss.js';
import { mse } from './mse.js';
import { softmaxCe } from './softmax-ce.js';

export const executedLosses: Readonly<Record<Head, ExecutedLoss>> = { 'softmax-ce': softmaxCe, mse, accuracy };
