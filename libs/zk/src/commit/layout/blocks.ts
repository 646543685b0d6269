/** The tensors that are committed, per tree and in list order (libs/zk/SPEC.md §4.1). */
import type { Shape } from './shape.js';

/** Trees of global rows; S holds the step witness, D the data, W0 and WT the weights before and after. */
export type DataTree = 'S' | 'D' | 'W0' | 'WT';

/** Order of the trees in the global hypercube. */
export const dataTrees: readonly DataTree[] = ['S', 'D', 'W0', 'WT'];

/** Kinds with the number that stands for them in digests. */
const kindCodes = {
  A: 1, M: 2, l: 3, h: 4, G: 5, hp: 6,
  d: 7, hL: 8, eps: 9, sel: 10, GL: 11, w: 12, mu: 13, iota: 14,
  hW: 15, hb: 16, mR: 17, mA: 18, mE: 19, pad: 20,
  W: 21, b: 22, z: 23, X: 24, Y: 25, YL: 26,
} as const; // prettier-ignore

type BlockKind = keyof typeof kindCodes;

export interface BlockSpec {
  /** Kind and layer, for example `A1`, `d`, `W2`: unique within its tree. */
  readonly name: string;
  readonly kind: BlockKind;
  /** 0 where the block belongs to no layer. */
  readonly layer: number;
  /** Variables per dimension; the first dimension is the slowest. */
  readonly dims: readonly number[];
  readonly vars: number;
  /** Rows whose coordinate in this dimension is at least `bound` are zero for every honest witness. */
  readonly zeroFrom?: { readonly dimension: number; readonly bound: number };
}

export function blockCode(block: BlockSpec): number {
  return 256 * block.layer + kindCodes[block.kind];
}

function block(kind: BlockKind, layer: number, dims: readonly number[], zeroFrom?: BlockSpec['zeroFrom']): BlockSpec {
  const name = layer === 0 ? kind : `${kind}${layer}`;
  const vars = dims.reduce((sum, bits) => sum + bits, 0);
  return { name, kind, layer, dims, vars, ...(zeroFrom ? { zeroFrom } : {}) };
}

/** Variables of the blind cells that end every long-lived tree. */
const blindVars = 2;

export function weightBlocks(shape: Shape): BlockSpec[] {
  const { widthVars, manifest } = shape;
  const perLayer = shape.layers.flatMap(({ layer }) => [
    block('W', layer, [widthVars[layer - 1]!, widthVars[layer]!], { dimension: 0, bound: manifest.dims[layer - 1]! }),
    block('b', layer, [widthVars[layer]!]),
  ]);
  return [...perLayer, block('z', 0, [blindVars])];
}

export function dataBlocks(shape: Shape): BlockSpec[] {
  const { stepVars, batchVars, widthVars, manifest, classes } = shape;
  return [
    block('X', 0, [stepVars, widthVars[0]!, batchVars], { dimension: 1, bound: manifest.dims[0]! }),
    block('Y', 0, [widthVars.at(-1)!, stepVars, batchVars], { dimension: 0, bound: classes }),
    block('z', 0, [blindVars]),
  ];
}

/** @param padVars lg of the number of pads */
export function witnessBlocks(shape: Shape, padVars: number): BlockSpec[] {
  const { stepVars, batchVars, widthVars, layers, manifest, classes, expVars, loss } = shape;
  const isSoftmax = loss === 'softmax-ce';
  const hidden = layers.slice(0, -1).flatMap(({ layer }) => {
    const dims = [stepVars, widthVars[layer]!, batchVars];
    return (['A', 'M', 'l', 'h', 'G', 'hp'] as const).map((kind) => block(kind, layer, dims));
  });
  const logitDims = [widthVars.at(-1)!, stepVars, batchVars];
  const logitKinds: readonly BlockKind[] = isSoftmax ? ['d', 'hL', 'eps', 'sel', 'GL', 'w'] : ['YL', 'hL', 'GL'];
  const logits = logitKinds.map((kind) => block(kind, 0, logitDims, { dimension: 0, bound: classes }));
  const rowKinds: readonly BlockKind[] = isSoftmax ? ['mu', 'iota'] : [];
  const rows = rowKinds.map((kind) => block(kind, 0, [stepVars, batchVars]));
  const limbs = layers.flatMap(({ layer }) => [
    block('hW', layer, [widthVars[layer - 1]!, widthVars[layer]!], { dimension: 0, bound: manifest.dims[layer - 1]! }),
    block('hb', layer, [widthVars[layer]!]),
  ]);
  const multiplicities = [
    block('mR', 0, [16]),
    block('mA', 0, [16]),
    ...(isSoftmax ? [block('mE', 0, [expVars])] : []),
  ];
  return [...hidden, ...logits, ...rows, ...limbs, ...multiplicities, block('pad', 0, [1, padVars])];
}
