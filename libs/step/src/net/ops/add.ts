/** Sum of two edges of one shape and fraction (libs/step/SPEC.md §22): `y = SAT(x1 + x2)`. */
import { roundShift } from '../../integers.js';
import { refuse } from '../../errors.js';
import { bound, edgeMax, roundingValue } from '../edge.js';
import { mapTensor } from '../tensor.js';
import type { NetOp } from './op.js';
import { errorShift } from './relu.js';

export const add: NetOp<object> = {
  members: [],
  arity: 2,
  inherits: 'a',
  reads: ['uint8', 'int16'],
  parse: () => ({}),
  shape(_, [left, right], { a }, { id }) {
    const isOne = String(left!.shape) === String(right!.shape) && left!.a === right!.a && left!.a === a;
    if (isOne) return { shape: left!.shape };
    const described = [left!, right!].map((edge) => `[${edge.shape.join()}] at ${edge.a}`).join(', ');
    return refuse('OP_SHAPE', `${id}: two inputs and an output of one shape and fraction a`, described, rule);
  },
  bounds: (layer) =>
    layer.inputs.map((_, input) => bound('ERROR', layer.id, roundingValue(edgeMax, errorShift(layer, input)))),
  forward: (layer, [left, right], _p, run) => ({
    output: mapTensor(left!, (value, i) => run.sat(value + right!.data[i]!, layer.id)),
    saved: {},
  }),
  backward: (layer, G, _passed, _p, wanted, run) => ({
    inputs: wanted.map((isWanted, input) => {
      const s = errorShift(layer, input);
      return isWanted ? mapTensor(G, (value) => run.sat(roundShift(value, s), layer.inputs[input]!.id)) : undefined;
    }),
    gradients: {},
  }),
  emitForward: (e, layer, [left, right]) => ({ output: e.sat(e.add(left!, right!), layer.output), saved: {} }),
  emitBackward: (e, layer, G, _passed, _p, wanted) => ({
    inputs: wanted.map((isWanted, input) =>
      isWanted ? e.sat(e.round(G, errorShift(layer, input)), layer.inputs[input]!) : undefined,
    ),
    gradients: {},
  }),
  emitFloat: (f, _, [left, right]) => f.node('Add', [left!, right!]),
  unprovable: () => ['a sum of edges has no step proof'],
};

const rule = 'libs/step/SPEC.md §22';
