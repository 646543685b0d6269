/** The optimizers of `fxt/2` by name. */
import type { NetOptimizer } from './optimizer.js';
import { sgdExact } from './sgd-exact.js';

export const netOptimizers: Readonly<Record<string, NetOptimizer<object>>> = { 'sgd-exact': sgdExact };
