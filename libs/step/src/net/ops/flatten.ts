/** One axis from many (libs/step/SPEC.md §22); fractions stay. */
import { edgeMax } from '../edge.js';
import type { NetOp } from './op.js';
import { sizeOf } from '../../tensors.js';

export const flatten: NetOp<object> = {
  members: [],
  arity: 1,
  inherits: 'both',
  keepsErrors: true,
  reads: ['uint8', 'int16'],
  parse: () => ({}),
  shape: (_, [input]) => ({ shape: [sizeOf(input!.shape)], max: input!.max < edgeMax ? input!.max : edgeMax }),
  bounds: () => [],
  forward: (_, [x]) => ({ output: { dims: [x!.dims[0]!, x!.data.length / x!.dims[0]!], data: x!.data }, saved: {} }),
  backward: ({ inputs: [input] }, G, _passed, _p, [wanted]) => ({
    inputs: [wanted === true ? { dims: [G.dims[0]!, ...input!.shape], data: G.data } : undefined],
    gradients: {},
  }),
  emitForward: (e, { output }, [x]) => ({ output: e.unrows(x!, output.shape), saved: {} }),
  emitBackward: (e, { inputs: [input] }, G, _passed, _p, [wanted]) => ({
    inputs: [wanted === true ? e.unrows(G, input!.shape) : undefined],
    gradients: {},
  }),
  emitFloat: (f, { output }, [x]) => f.reshape(x!, [-1, ...output.shape]),
  unprovable: () => [],
};
