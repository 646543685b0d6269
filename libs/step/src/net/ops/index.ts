/** The ops of `fxt/2` by name: a new one is a file beside this and a row here. */
import { add } from './add.js';
import { dense } from './dense.js';
import { flatten } from './flatten.js';
import type { NetOp } from './op.js';
import { relu } from './relu.js';

export const netOps: Readonly<Record<string, NetOp<object>>> = { add, dense, flatten, relu };
