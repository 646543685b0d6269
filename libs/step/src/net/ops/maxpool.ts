/** Maximum of windows side by side (libs/step/SPEC.md §22); the error goes to the first maximum, row by row. */
import { roundShift } from '../../integers.js';
import { bound, edgeMax, roundingValue } from '../edge.js';
import type { EmittedPass, NetOp } from './op.js';
import { emitOpen, errorShift } from './relu.js';
import type { NetEmitter } from '../emitter.js';
import { elementOf, emitFromTiles, emitTiles, overWindows, tilingOf, type Tiling } from './window.js';

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
  emitForward(e, { members: { k }, inputs: [input], output, id }, [x]): Pick<EmittedPass, 'output' | 'saved'> {
    const tiling = tilingOf(input!, k, id);
    const gate = e.gates.of(x!);
    const from = gate?.x ?? x!;
    const windows = isSmall(k) ? undefined : emitWindows(e, from, tiling);
    const most =
      windows === undefined
        ? e.node('Max', emitParts(e, from, tiling))
        : e.unrows(e.node('ReduceMax', [windows], { axes: { ints: [3] }, keepdims: { int: 1 } }), output.shape);
    return {
      output: gate === undefined ? most : e.clamp(most, gate.low, gate.high),
      saved: windows === undefined ? { from, most } : { windows },
    };
  },
  emitBackward(e, layer, G, { inputs: [x], saved, output }, _p, [wanted]) {
    if (wanted !== true) return { inputs: [undefined], gradients: {} };
    const { k } = layer.members;
    const tiling = tilingOf(layer.inputs[0]!, k, layer.id);
    const gate = e.gates.of(x!);
    // Errors are looked at before the relu masks them, as they are where it stands.
    const all = e.sat(e.round(G, errorShift(layer)), layer.inputs[0]!);
    const dx = gate === undefined ? all : emitOpen(e, all, output, gate.high);
    const tiles = isSmall(k)
      ? emitSpread(e, dx, emitParts(e, saved.from!, tiling), saved.most!, tiling)
      : emitSpreadOver(e, dx, saved.windows!, tiling);
    const error = emitFromTiles(e, tiles, tiling);
    return { inputs: [gate === undefined ? error : e.gates.mask(error)], gradients: {} };
  },
  emitFloat: (f, { members: { k } }, [x]) => f.overChannelsFirst(x!, 'MaxPool', [], windowAttributes(k)),
  unprovable: () => ['a maximum of windows has no step proof'],
};

/** Attributes of a pooling node of ONNX. */
export function windowAttributes(k: readonly number[]): Record<string, { readonly ints: readonly number[] }> {
  return { kernel_shape: { ints: k }, strides: { ints: k } };
}

/** Windows of so few places are taken apart: a tensor a place is three times as fast as a reduction over windows. */
function isSmall([height, width]: readonly number[]): boolean {
  return height! * width! <= 16;
}

/** The elements of all windows at each place, row by row: [batch, rows, columns, C] each. */
function emitParts(e: NetEmitter, x: string, { k, out }: Tiling): string[] {
  return Array.from({ length: k[0] * k[1] }, (_, j) => {
    const [y, at] = [Math.floor(j / k[1]), j % k[1]];
    const row = k[0] === 1 ? x : e.slice(x, 1, y, y + (out[0] - 1) * k[0] + 1, k[0]);
    return e.slice(row, 2, at, at + (out[1] - 1) * k[1] + 1, k[1]);
  });
}

/** The error at the first place that holds the maximum, 0 elsewhere. */
function emitSpread(e: NetEmitter, error: string, parts: readonly string[], y: string, { k, out, C }: Tiling): string {
  let rest = error;
  const shares = parts.map((part, j) => {
    if (j === parts.length - 1) return rest;
    // 0 where this place holds the maximum, 1 where it lies below.
    const isBelow = e.clamp(e.sub(y, part), 0, 1);
    const [all, left] = [rest, e.mul(rest, isBelow)];
    rest = left;
    return e.sub(all, left);
  });
  const rows = Array.from({ length: k[0] }, (_, row) => {
    const beside = e.concat(shares.slice(row * k[1], (row + 1) * k[1]), 3);
    return e.reshape(beside, [-1, out[0], out[1] * k[1] * C]);
  });
  return e.concat(rows, 2);
}

/** [batch, rows, columns, places of a window, C]. */
function emitWindows(e: NetEmitter, x: string, tiling: Tiling): string {
  const tiles = e.transpose(emitTiles(e, x, tiling), [0, 1, 3, 2, 4, 5]);
  return e.reshape(tiles, [-1, ...tiling.out, tiling.k[0] * tiling.k[1], tiling.C]);
}

/** The error at the first maximum of each window, as tiles. */
function emitSpreadOver(e: NetEmitter, dx: string, windows: string, { k, out, C }: Tiling): string {
  const error = e.reshape(dx, [-1, ...out, 1, C]);
  const first = e.node('ArgMax', [windows], { axis: { int: 3 }, keepdims: { int: 1 } });
  const places = e.reshape(e.graph.axes(...Array(k[0] * k[1]).keys()), [-1, 1]);
  const spread = e.where(e.node('Equal', [first, places]), error, e.scalar(0));
  return e.transpose(e.reshape(spread, [-1, ...out, ...k, C]), [0, 1, 3, 2, 4, 5]);
}
