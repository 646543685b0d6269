/** A learned row for every place (libs/step/SPEC.md §22): `y = SAT(x + SAT(RS(Wc, c − a_o)))` for an input [T, C]. */
import { roundShift } from '../../integers.js';
import { refuse } from '../../errors.js';
import { bound, computeMax, edgeMax, roundingValue, type NetLayer } from '../edge.js';
import { columnSums, mapTensor } from '../tensor.js';
import { sizeOf } from '../../tensors.js';
import { isTrained } from './dense.js';
import type { NetOp } from './op.js';
import { errorShift } from './relu.js';

export const position: NetOp<object> = {
  members: [],
  arity: 1,
  inherits: 'a',
  drawN: 3,
  parse: () => ({}),
  shape(_, [input], { g }, { id, batch }) {
    const { shape: dims } = input!;
    if (dims.length !== 2) refuse('OP_SHAPE', `${id}: an input [T, C]`, `[${dims.join()}]`, rule);
    const table = { role: 'W', dims, draw: { n: 3, fan: dims[1]! }, decays: false } as const;
    return {
      shape: dims,
      parameters: [{ ...table, gradientFraction: g, gradientMax: BigInt(batch) * edgeMax }],
    };
  },
  bounds: (layer) => [
    bound('PRODUCT', layer.id, roundingValue(computeMax(layer.parameters.W!), tableShift(layer))),
    ...(layer.inputs[0]!.hasError ? [bound('ERROR', layer.id, roundingValue(edgeMax, errorShift(layer)))] : []),
  ],
  forward(layer, [x], { Wc }, run) {
    const rows = Wc!.map((value) => run.sat(roundShift(value, tableShift(layer)), layer.id));
    return { output: mapTensor(x!, (value, i) => run.sat(value + rows[i % rows.length]!, layer.id)), saved: {} };
  },
  backward(layer, G, _passed, _p, [wanted], run) {
    const { id, shape } = layer.inputs[0]!;
    const s = errorShift(layer);
    return {
      inputs: [wanted === true ? mapTensor(G, (value) => run.sat(roundShift(value, s), id)) : undefined],
      gradients: isTrained(layer, 'W') ? { W: columnSums(G.data, sizeOf(shape)) } : {},
    };
  },
  emitForward(e, layer, [x], { Wc }) {
    const rows = e.sat(e.round(Wc!, tableShift(layer)), layer);
    return { output: e.sat(e.add(x!, rows), layer.output), saved: {} };
  },
  emitBackward: (e, layer, G, _passed, _p, [wanted]) => ({
    inputs: [wanted === true ? e.sat(e.round(G, errorShift(layer)), layer.inputs[0]!) : undefined],
    gradients: isTrained(layer, 'W') ? { W: e.sum(G, 0, 0) } : {},
  }),
  work: ({ output }) => sizeOf(output.shape),
  emitFloat: (f, layer, [x]) => f.node('Add', [x!, f.parameter(layer, 'W')]),
  unprovable: () => ['learned positions have no step proof'],
};

/** `c − a_o`. */
function tableShift({ parameters, output }: NetLayer): number {
  return parameters.W!.compute - output.a;
}

const rule = 'libs/step/SPEC.md §22';
