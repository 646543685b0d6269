/** The losses of `fxt/2` by name. */
import type { NetLoss } from './loss.js';
import { mse } from './mse.js';
import { sigmoidBce } from './sigmoid-bce.js';
import { softmaxCe } from './softmax-ce.js';

export const netLosses: Readonly<Record<string, NetLoss<object>>> = {
  mse,
  'sigmoid-bce': sigmoidBce,
  'softmax-ce': softmaxCe,
};
