/** The ops of `fxt/2` by name: a new one is a file beside this and a row here. */
import { gelu, sigmoid, silu, tanh } from './activation.js';
import { add } from './add.js';
import { attention } from './attention.js';
import { avgpool } from './avgpool.js';
import { conv2d } from './conv2d.js';
import { dense } from './dense.js';
import { dropout } from './dropout.js';
import { embedding } from './embedding.js';
import { flatten } from './flatten.js';
import { layernorm } from './layernorm.js';
import { maxpool } from './maxpool.js';
import { meanpool } from './meanpool.js';
import type { NetOp } from './op.js';
import { position } from './position.js';
import { relu } from './relu.js';
import { rmsnorm } from './rmsnorm.js';

export const netOps: Readonly<Record<string, NetOp<object>>> = {
  ...{ add, attention, avgpool, conv2d, dense, dropout, embedding, flatten, gelu },
  ...{ layernorm, maxpool, meanpool, position, relu, rmsnorm, sigmoid, silu, tanh },
};
