/** Clipped ReLU (libs/step/SPEC.md §22): `y = CLAMP(x, 0, 2^abits − 1)`, `dx = SAT(RS(mask·G, g_o − g_i))`. */
import { clamp, roundShift } from '../../integers.js';
import { edgeMax, bound, roundingValue, type NetLayer } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { mapTensor } from '../tensor.js';
import type { NetOp } from './op.js';

interface Relu {
  readonly abits: number;
}

export const relu: NetOp<Relu> = {
  members: ['abits'],
  arity: 1,
  inherits: 'a',
  parse: (read) => ({ abits: read.integer('abits', 1, 15, 15) }),
  shape: ({ abits }, [input]) => ({ shape: input!.shape, max: (1n << BigInt(abits)) - 1n }),
  bounds: (layer) => [bound('ERROR', layer.id, roundingValue(edgeMax, errorShift(layer)))],
  forward({ members }, [x]) {
    const top = topOf(members);
    return { output: mapTensor(x!, (value) => clamp(value, 0n, top)), saved: {} };
  },
  backward(layer, G, { inputs: [x] }, _p, [wanted], run) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const top = topOf(layer.members);
    const s = errorShift(layer);
    const dx = mapTensor(G, (value, i) => {
      const isOpen = x!.data[i]! > 0n && x!.data[i]! < top;
      return run.sat(isOpen ? roundShift(value, s) : 0n, layer.inputs[0]!.id);
    });
    return { inputs: [dx], gradients: {} };
  },
  emitForward: (e, { members }, [x]) => ({ output: e.gates.gate(x!, Number(topOf(members))), saved: {} }),
  /** The mask is read off y. */
  emitBackward(e, layer, G, { output }, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const s = errorShift(layer);
    if (e.gates.isMasked(G) && s >= 0) return { inputs: [e.round(G, s)], gradients: {} };
    const open = e.gates.isMasked(G) ? G : emitOpen(e, G, output, Number(topOf(layer.members)));
    return { inputs: [e.sat(e.round(open, s), layer.inputs[0]!)], gradients: {} };
  },
  emitFloat(f, { members, output }, [x]) {
    return f.node('Clip', [x!, f.scalar(0), f.scalar(Number(topOf(members)) * 2 ** -output.a)]);
  },
  unprovable: () => ['an activation of fxt 2 has no step proof: write the net as an fxt 1 manifest'],
};

/** G where a whole number y of 0 … high lies between both, elsewhere 0. */
export function emitOpen(e: NetEmitter, G: string, y: string, high: number): string {
  return e.mul(G, e.node('Min', [y, e.sub(e.scalar(high), y), e.scalar(1)]));
}

function topOf({ abits }: Relu): bigint {
  return (1n << BigInt(abits)) - 1n;
}

/** `g_o − g_i`: how an error is rounded that passes through. */
export function errorShift({ inputs, output }: NetLayer, input = 0): number {
  return output.g - inputs[input]!.g;
}
