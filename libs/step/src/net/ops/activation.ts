/** Smooth activations by table (libs/step/SPEC.md §22): `y = T[x]`, `dx = SAT(RS(G·T'[x], 14 + g_o − g_i))`. */
import { roundShift } from '../../integers.js';
import { bound, edgeMax, roundingValue, type NetLayer } from '../edge.js';
import type { FloatEmitter } from '../float-emitter.js';
import { mapTensor } from '../tensor.js';
import { activationTable, checkTable, slopeFraction, type ActivationTable } from './activation-table.js';
import { indexMax, type Curve } from './curves.js';
import type { NetOp } from './op.js';
import { errorShift } from './relu.js';
import { byValue } from './table-lookup.js';

type Float = (f: FloatEmitter, x: string) => string;

/** Opset 17 has no node of its own for it. */
export const gelu = activation('gelu', (f, x) => {
  const twice = f.node('Add', [f.node('Erf', [f.node('Div', [x, f.scalar(Math.SQRT2)])]), f.scalar(1)]);
  return f.node('Mul', [f.node('Mul', [x, twice]), f.scalar(0.5)]);
});
export const silu = activation('silu', (f, x) => f.node('Mul', [x, f.node('Sigmoid', [x])]));
export const tanh = activation('tanh', (f, x) => f.node('Tanh', [x]));
export const sigmoid = activation('sigmoid', (f, x) => f.node('Sigmoid', [x]));

function activation(curve: Curve, emitFloat: Float): NetOp<object> {
  const table = ({ inputs, output }: NetLayer): ActivationTable => activationTable(curve, inputs[0]!.a, output.a);
  return {
    members: [],
    arity: 1,
    parse: () => ({}),
    shape(_, [input], { a }, { id }) {
      checkTable(curve, input!.a, a, id);
      return { shape: input!.shape };
    },
    bounds: (layer) => [bound('ERROR', layer.id, roundingValue(edgeMax * edgeMax, slopeShift(layer)))],
    forward(layer, [x]) {
      const { values } = table(layer);
      return { output: mapTensor(x!, (value) => BigInt(values[Number(value) + indexMax]!)), saved: {} };
    },
    backward(layer, G, { inputs: [x] }, _p, [wanted], run) {
      if (wanted !== true) return { inputs: [undefined], gradients: {} };
      const { slopes } = table(layer);
      const dx = mapTensor(G, (value, i) => {
        const slope = BigInt(slopes[Number(x!.data[i]!) + indexMax]!);
        return run.sat(roundShift(value * slope, slopeShift(layer)), layer.inputs[0]!.id);
      });
      return { inputs: [dx], gradients: {} };
    },
    emitForward(e, layer, [x]) {
      const places = e.places(x!);
      return { output: e.entries(byValue(table(layer).values), places, x!), saved: { places } };
    },
    /** The table of slopes takes the scale of the rounding. */
    emitBackward(e, layer, G, { inputs: [x], saved }, _p, [wanted]) {
      if (wanted !== true) return { inputs: [undefined], gradients: {} };
      const s = slopeShift(layer);
      const slopes = e.entries(byValue(table(layer).slopes, s), saved.places!, x!);
      const product = e.mul(G, slopes);
      return { inputs: [e.sat(e.nearest(product, s), layer.inputs[0]!)], gradients: {} };
    },
    emitFloat: (f, _, [x]) => emitFloat(f, x!),
    unprovable: () => ['an activation by table has no step proof'],
  };
}

function slopeShift(layer: NetLayer): number {
  return slopeFraction + errorShift(layer);
}
