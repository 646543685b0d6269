/** Maximum of windows side by side (libs/step/SPEC.md §22); the error goes to the first maximum, row by row. */
import { roundShift } from '../../integers.js';
import { bound, edgeMax, roundingValue } from '../edge.js';
import type { NetOp } from './op.js';
import { errorShift } from './relu.js';
import { elementOf, emitFromTiles, emitTiles, overWindows, tilingOf } from './window.js';

export interface Pool {
  /** Height and width of a window, and of its step. */
  readonly k: readonly number[];
}

export const kernelMax = 1024;

export const maxpool: NetOp<Pool> = {
  members: ['k'],
  arity: 1,
  inherits: 'a',
  parse: (read) => ({ k: read.integers('k', 2, 1, kernelMax) }),
  shape({ k }, [input], _, { id }) {
    const { out, C } = tilingOf(input!, k, id);
    return { shape: [...out, C] };
  },
  bounds: (layer) => [bound('ERROR', layer.id, roundingValue(edgeMax, errorShift(layer)))],
  forward({ members: { k }, inputs: [input], id }, [x]) {
    const output = overWindows(x!, tilingOf(input!, k, id), (window) => window.reduce((y, v) => (v > y ? v : y)));
    return { output, saved: {} };
  },
  backward(layer, G, { inputs: [x], output }, _p, [wanted], run) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const tiling = tilingOf(layer.inputs[0]!, layer.members.k, layer.id);
    const data = new Array<bigint>(x!.data.length).fill(0n);
    G.data.forEach((value, at) => {
      let j = 0;
      while (x!.data[elementOf(tiling, at, j)] !== output.data[at]) j++;
      data[elementOf(tiling, at, j)] = run.sat(roundShift(value, errorShift(layer)), layer.inputs[0]!.id);
    });
    return { inputs: [{ dims: x!.dims, data }], gradients: {} };
  },
  emitForward(e, { members: { k }, inputs: [input], output, id }, [x]) {
    const tiling = tilingOf(input!, k, id);
    const tiles = e.transpose(emitTiles(e, x!, tiling), [0, 1, 3, 2, 4, 5]);
    const windows = e.reshape(tiles, [-1, ...tiling.out, k[0]! * k[1]!, tiling.C]);
    const y = e.node('ReduceMax', [windows], { axes: { ints: [3] }, keepdims: { int: 1 } });
    return { output: e.unrows(y, output.shape), saved: { windows } };
  },
  emitBackward(e, layer, G, { saved }, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const { k } = layer.members;
    const tiling = tilingOf(layer.inputs[0]!, k, layer.id);
    const dx = e.sat(e.round(G, errorShift(layer)), layer.inputs[0]!);
    const error = e.reshape(dx, [-1, ...tiling.out, 1, tiling.C]);
    const first = e.node('ArgMax', [saved.windows!], { axis: { int: 3 }, keepdims: { int: 1 } });
    const places = e.reshape(e.graph.axes(...Array(k[0]! * k[1]!).keys()), [-1, 1]);
    const spread = e.where(e.node('Equal', [first, places]), error, e.scalar(0));
    const tiles = e.reshape(spread, [-1, ...tiling.out, ...k, tiling.C]);
    return { inputs: [emitFromTiles(e, e.transpose(tiles, [0, 1, 3, 2, 4, 5]), tiling)], gradients: {} };
  },
  emitFloat: (f, { members: { k } }, [x]) => f.overChannelsFirst(x!, 'MaxPool', [], windowAttributes(k)),
  unprovable: () => ['a maximum of windows has no step proof'],
};

/** Attributes of a pooling node of ONNX. */
export function windowAttributes(k: readonly number[]): Record<string, { readonly ints: readonly number[] }> {
  return { kernel_shape: { ints: k }, strides: { ints: k } };
}
