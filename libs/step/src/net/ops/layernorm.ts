/** Layer norm over the last axis (libs/step/SPEC.md §22): the mean is taken off, and β is added. */
import { normFaces, realEps, type Norm } from './norm.js';
import type { NetOp } from './op.js';

export const layernorm: NetOp<Norm> = {
  ...normFaces(true),
  emitFloat: (f, layer, [x]) =>
    f.node('LayerNormalization', [x!, f.parameter(layer, 'W'), f.parameter(layer, 'b')], {
      ...{ axis: { int: -1 }, epsilon: { float: realEps(layer) } },
    }),
};
