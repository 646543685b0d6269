/** The ops of `fxt/2` by name: a new one is a file beside this and a row here. */
import { add } from './add.js';
import { attention } from './attention.js';
import { dense } from './dense.js';
import { embedding } from './embedding.js';
import { flatten } from './flatten.js';
import { layernorm } from './layernorm.js';
import type { NetOp } from './op.js';
import { position } from './position.js';
import { relu } from './relu.js';
import { rmsnorm } from './rmsnorm.js';

export const netOps: Readonly<Record<string, NetOp<object>>> = {
  ...{ add, attention, dense, embedding, flatten, layernorm, position, relu, rmsnorm },
};
