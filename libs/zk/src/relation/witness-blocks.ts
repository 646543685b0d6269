/** The tensors of a step witness, in list order (libs/zk/SPEC.md §4.1). */
import { block, type BlockSpec } from '../commit/layout/blocks.js';
import type { BlockKind } from '../commit/layout/kinds.js';
import type { Shape } from '../commit/layout/shape.js';
import { committedHead } from './heads.js';

/** Tensors of weights at the end of every segment, [segment,] input, output. */
function borderBlocks({ segmentVars, widthVars, layers }: Shape, weight: BlockKind, bias: BlockKind): BlockSpec[] {
  const segment = segmentVars > 0 ? [segmentVars] : [];
  return layers.flatMap(({ layer, inputs }) => [
    block(weight, layer, [...segment, widthVars[layer - 1]!, widthVars[layer]!], {
      dimension: segment.length,
      bound: inputs,
    }),
    block(bias, layer, [...segment, widthVars[layer]!]),
  ]);
}

const hiddenKinds = ['A', 'M', 'l', 'h', 'G', 'hp'] as const;
const forwardKinds = ['A', 'l', 'h'] as const;

/** @param padVars lg of the number of pads */
export function witnessBlocks(shape: Shape, padVars: number): BlockSpec[] {
  const { stepVars, batchVars, widthVars, layers, classes, expVars, isForward } = shape;
  const loss = committedHead(shape.loss);
  const hidden = layers.slice(0, -1).flatMap(({ layer }) => {
    const dims = [stepVars, widthVars[layer]!, batchVars];
    return (isForward ? forwardKinds : hiddenKinds).map((kind) => block(kind, layer, dims));
  });
  const logitDims = [widthVars.at(-1)!, stepVars, batchVars];
  const logits = loss.logits.map((kind) => block(kind, 0, logitDims, { dimension: 0, bound: classes }));
  const rows = loss.rows.map((kind) => block(kind, 0, [stepVars, batchVars]));
  const ends = shape.segmentVars > 0 ? borderBlocks(shape, 'Wn', 'bn') : [];
  const limbs = isForward ? [] : [...ends, ...borderBlocks(shape, 'hW', 'hb')];
  const tables = [block('mR', 0, [16]), block('mA', 0, [16]), ...(expVars > 0 ? [block('mE', 0, [expVars])] : [])];
  return [...hidden, ...logits, ...rows, ...limbs, ...tables, block('pad', 0, [1, padVars])];
}
