/** The ops of a layer: a linear one, and behind every layer but the last an activation. */
import { relu } from './relu.js';
import { dense } from './dense.js';
import type { Activation, LinearOp } from './op.js';

export type { ByKind, Parameter, ParameterKind } from './op.js';

export const linear: LinearOp = dense;
export const activation: Activation = relu;
