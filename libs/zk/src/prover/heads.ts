/** What each head adds to a proof's making: losses, and accuracy where nothing is trained. */
import type { Head } from '../commit/layout/shape.js';
import { executedAccuracy } from './accuracy-head.js';
import { executedLosses } from './losses/index.js';
import type { ExecutedLoss } from './losses/loss.js';

export const executedHeads: Readonly<Record<Head, ExecutedLoss>> = { ...executedLosses, accuracy: executedAccuracy };
