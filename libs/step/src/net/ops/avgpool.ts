/** Mean of windows side by side (libs/step/SPEC.md §22); every element of a window gets the same error. */
import { emitMean, meanBounds, meanOf, meanShifts } from './mean.js';
import { kernelMax, windowAttributes, type Pool } from './maxpool.js';
import type { NetOp } from './op.js';
import { elementOf, emitFromTiles, emitTiles, overWindows, tilingOf } from './window.js';

export const avgpool: NetOp<Pool> = {
  members: ['k'],
  arity: 1,
  parse: (read) => ({ k: read.integers('k', 2, 1, kernelMax) }),
  shape({ k }, [input], _, { id }) {
    const { out, C } = tilingOf(input!, k, id);
    return { shape: [...out, C] };
  },
  bounds: (layer) => meanBounds(layer, sizeOfWindow(layer.members)),
  forward(layer, [x], _p, run) {
    const { inputs, members, id } = layer;
    const { forward } = meanShifts(layer);
    const output = overWindows(x!, tilingOf(inputs[0]!, members.k, id), (window) => {
      const sum = window.reduce((total, value) => total + value);
      return run.sat(meanOf(sum, forward, window.length), id);
    });
    return { output, saved: {} };
  },
  backward(layer, G, { inputs: [x] }, _p, [wanted], run) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const tiling = tilingOf(layer.inputs[0]!, layer.members.k, layer.id);
    const n = sizeOfWindow(layer.members);
    const data = new Array<bigint>(x!.data.length).fill(0n);
    G.data.forEach((value, at) => {
      const error = run.sat(meanOf(value, meanShifts(layer).back, n), layer.inputs[0]!.id);
      for (let j = 0; j < n; j++) data[elementOf(tiling, at, j)] = error;
    });
    return { inputs: [{ dims: x!.dims, data }], gradients: {} };
  },
  emitForward(e, layer, [x]) {
    const tiling = tilingOf(layer.inputs[0]!, layer.members.k, layer.id);
    const sum = e.sum(emitTiles(e, x!, tiling), [2, 4], 0);
    const mean = emitMean(e, sum, meanShifts(layer).forward, sizeOfWindow(layer.members));
    return { output: e.sat(mean, layer.output), saved: {} };
  },
  emitBackward(e, layer, G, _passed, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const { k } = layer.members;
    const tiling = tilingOf(layer.inputs[0]!, k, layer.id);
    const error = e.sat(emitMean(e, G, meanShifts(layer).back, sizeOfWindow(layer.members)), layer.inputs[0]!);
    const { out, C } = tiling;
    const single = e.reshape(error, [-1, out[0], 1, out[1], 1, C]);
    const tiles = e.node('Expand', [single, e.graph.axes(1, out[0], k[0]!, out[1], k[1]!, C)]);
    return { inputs: [emitFromTiles(e, tiles, tiling)], gradients: {} };
  },
  emitFloat: (f, { members: { k } }, [x]) => f.overChannelsFirst(x!, 'AveragePool', [], windowAttributes(k)),
  unprovable: () => ['a mean of windows has no step proof'],
};

function sizeOfWindow({ k }: Pool): number {
  return k[0]! * k[1]!;
}
