/** Windows over the maps [H, W, C] of an edge (libs/step/SPEC.md §22): whole numbers of rows and columns of them. */
import { refuse } from '../../errors.js';
import type { Edge } from '../edge.js';
import type { NetEmitter } from '../emitter.js';
import { tensorOf, type IntTensor } from '../tensor.js';

export interface Maps {
  readonly H: number;
  readonly W: number;
  readonly C: number;
}

/** @throws Rejection OP_SHAPE @param id of the layer that reads the edge */
export function mapsOf({ shape }: Edge, id: string): Maps {
  if (shape.length !== 3) refuse('OP_SHAPE', `${id}: an input [H, W, C]`, `[${shape.join()}]`, rule);
  return { H: shape[0]!, W: shape[1]!, C: shape[2]! };
}

/** Windows that lie side by side: the rest of a map is dropped. */
export interface Tiling extends Maps {
  /** Height and width of a window. */
  readonly k: readonly [number, number];
  /** Rows and columns of windows. */
  readonly out: readonly [number, number];
}

/** @throws Rejection OP_SHAPE */
export function tilingOf(edge: Edge, k: readonly number[], id: string): Tiling {
  const maps = mapsOf(edge, id);
  const out = [Math.floor(maps.H / k[0]!), Math.floor(maps.W / k[1]!)] as const;
  if (out[0] < 1 || out[1] < 1) {
    refuse('OP_SHAPE', `${id}: a window within ${maps.H}·${maps.W}`, `${k[0]}·${k[1]}`, rule);
  }
  return { ...maps, k: [k[0]!, k[1]!], out };
}

/** Row-major index into [batch, H, W, C] of window element j (row by row) of output element `at`. */
export function elementOf({ H, W, C, k, out }: Tiling, at: number, j: number): number {
  const [c, place] = [at % C, Math.floor(at / C)];
  const [px, row] = [place % out[1], Math.floor(place / out[1])];
  const [py, b] = [row % out[0], Math.floor(row / out[0])];
  const y = py * k[0] + Math.floor(j / k[1]);
  const x = px * k[1] + (j % k[1]);
  return ((b * H + y) * W + x) * C + c;
}

/** Output elements over a batch, each from its window's elements row by row. */
export function overWindows(x: IntTensor, tiling: Tiling, f: (window: readonly bigint[]) => bigint): IntTensor {
  const count = tiling.k[0] * tiling.k[1];
  return tensorOf([x.dims[0]!, ...tiling.out, tiling.C], (at) =>
    f(Array.from({ length: count }, (_, j) => x.data[elementOf(tiling, at, j)]!)),
  );
}

/** [batch, H, W, C] as [batch, rows, k0, columns, k1, C], the rest of the maps dropped. */
export function emitTiles(e: NetEmitter, x: string, { H, W, C, k, out }: Tiling): string {
  const [height, width] = [out[0] * k[0], out[1] * k[1]];
  const rows = height === H ? x : e.slice(x, 1, 0, height);
  const whole = width === W ? rows : e.slice(rows, 2, 0, width);
  return e.reshape(whole, [-1, out[0], k[0], out[1], k[1], C]);
}

/** The way back: 0 in the dropped rest. */
export function emitFromTiles(e: NetEmitter, tiles: string, { H, W, C, k, out }: Tiling): string {
  const [height, width] = [out[0] * k[0], out[1] * k[1]];
  const maps = e.reshape(tiles, [-1, height, width, C]);
  if (height === H && width === W) return maps;
  return e.node('Pad', [maps, e.graph.axes(0, 0, 0, 0, 0, H - height, W - width, 0)]);
}

const rule = 'libs/step/SPEC.md §22';
