/** The tensors that are committed, per tree and in list order (libs/zk/SPEC.md §4.1). */
import { kindCodes, type BlockKind } from './kinds.js';
import type { Shape } from './shape.js';

/** Trees of global rows; S holds the step witness, D the data, W0 and WT the weights before and after. */
export type DataTree = 'S' | 'D' | 'W0' | 'WT';

/** Order of the trees in the global hypercube. */
export const dataTrees: readonly DataTree[] = ['S', 'D', 'W0', 'WT'];

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

export function block(
  kind: BlockKind,
  layer: number,
  dims: readonly number[],
  zeroFrom?: BlockSpec['zeroFrom'],
): BlockSpec {
  const name = layer === 0 ? kind : `${kind}${layer}`;
  const vars = dims.reduce((sum, bits) => sum + bits, 0);
  return { name, kind, layer, dims, vars, ...(zeroFrom ? { zeroFrom } : {}) };
}

/** Variables of the blind cells that end every long-lived tree. */
const blindVars = 2;

export function weightBlocks(shape: Shape): BlockSpec[] {
  const { widthVars } = shape;
  const perLayer = shape.layers.flatMap(({ layer, inputs }) => [
    block('W', layer, [widthVars[layer - 1]!, widthVars[layer]!], { dimension: 0, bound: inputs }),
    block('b', layer, [widthVars[layer]!]),
  ]);
  return [...perLayer, block('z', 0, [blindVars])];
}

export function dataBlocks(shape: Shape): BlockSpec[] {
  const { stepVars, batchVars, widthVars, layers, classes, inputsFirst } = shape;
  const [inputVars, bound] = [widthVars[0]!, layers[0]!.inputs];
  return [
    inputsFirst
      ? block('X', 0, [inputVars, stepVars, batchVars], { dimension: 0, bound })
      : block('X', 0, [stepVars, inputVars, batchVars], { dimension: 1, bound }),
    block('Y', 0, [widthVars.at(-1)!, stepVars, batchVars], { dimension: 0, bound: classes }),
    block('z', 0, [blindVars]),
  ];
}
