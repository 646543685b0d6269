/** Mean over the places of [T, C] (libs/step/SPEC.md §22); every place gets the same error. */
import { refuse } from '../../errors.js';
import { tensorOf } from '../tensor.js';
import { emitMean, meanBounds, meanOf, meanShifts } from './mean.js';
import type { NetOp } from './op.js';

export const meanpool: NetOp<object> = {
  members: [],
  arity: 1,
  parse: () => ({}),
  shape(_, [input], _fractions, { id }) {
    const { shape } = input!;
    if (shape.length !== 2) refuse('OP_SHAPE', `${id}: an input [T, C]`, `[${shape.join()}]`, 'libs/step/SPEC.md §22');
    return { shape: [shape[1]!] };
  },
  bounds: (layer) => meanBounds(layer, layer.inputs[0]!.shape[0]!),
  forward(layer, [x], _p, run) {
    const [T, C] = layer.inputs[0]!.shape as [number, number];
    const output = tensorOf([x!.dims[0]!, C], (at) => {
      const first = Math.floor(at / C) * T * C + (at % C);
      let sum = 0n;
      for (let t = 0; t < T; t++) sum += x!.data[first + t * C]!;
      return run.sat(meanOf(sum, meanShifts(layer).forward, T), layer.id);
    });
    return { output, saved: {} };
  },
  backward(layer, G, { inputs: [x] }, _p, [wanted], run) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const [T, C] = layer.inputs[0]!.shape as [number, number];
    const { back } = meanShifts(layer);
    const errors = G.data.map((value) => run.sat(meanOf(value, back, T), layer.inputs[0]!.id));
    const dx = tensorOf(x!.dims, (at) => errors[Math.floor(at / (T * C)) * C + (at % C)]!);
    return { inputs: [dx], gradients: {} };
  },
  emitForward(e, layer, [x]) {
    const mean = emitMean(e, e.sum(x!, 1, 0), meanShifts(layer).forward, layer.inputs[0]!.shape[0]!);
    return { output: e.sat(mean, layer.output), saved: {} };
  },
  emitBackward(e, layer, G, _passed, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const [T, C] = layer.inputs[0]!.shape as [number, number];
    const error = e.sat(emitMean(e, G, meanShifts(layer).back, T), layer.inputs[0]!);
    return { inputs: [e.node('Expand', [e.reshape(error, [-1, 1, C]), e.graph.axes(1, T, C)])], gradients: {} };
  },
  emitFloat: (f, _, [x]) => f.node('ReduceMean', [x!], { axes: { ints: [1] }, keepdims: { int: 0 } }),
  unprovable: () => ['a mean over places has no step proof'],
};
