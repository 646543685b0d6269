/** The losses of `fxt/2` by name. */
import type { NetLoss } from './loss.js';
import { softmaxCe } from './softmax-ce.js';

export const netLosses: Readonly<Record<string, NetLoss<object>>> = { 'softmax-ce': softmaxCe };
