/** What each head adds to the flow: losses, and accuracy where nothing is trained. */
import type { Head } from '../commit/layout/shape.js';
import { verifiedAccuracy } from './accuracy-head.js';
import { verifiedLosses } from './losses/index.js';
import type { VerifiedLoss } from './losses/loss.js';

export const verifiedHeads: Readonly<Record<Head, VerifiedLoss>> = { ...verifiedLosses, accuracy: verifiedAccuracy };
