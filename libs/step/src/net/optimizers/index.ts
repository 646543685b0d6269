/** The optimizers of `fxt/2` by name. */
import { adamw } from './adamw.js';
import type { NetOptimizer } from './optimizer.js';
import { sgd } from './sgd.js';
import { sgdExact } from './sgd-exact.js';

export const netOptimizers: Readonly<Record<string, NetOptimizer<object>>> = { adamw, sgd, 'sgd-exact': sgdExact };
