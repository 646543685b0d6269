/** The value of a node whose inputs are known: exporters compute shapes, masks and constants with such nodes. */
import { cannot } from '../../errors.js';
import { intOf } from '../attributes.js';
import type { Constant } from '../constant.js';
import type { OnnxNode } from '../decode.js';
import { rearranged } from '../rearrange.js';
import { pointwise, pointwiseOps } from './arithmetic.js';
import { reduction, reductionOps } from './reductions.js';

/** @returns values of the outputs, or undefined when no constant can be made of the node */
export function evaluate(node: OnnxNode, inputs: readonly (Constant | undefined)[]): readonly Constant[] | undefined {
  if (node.op === 'Constant') return [constantOf(node)];
  const moved = rearranged(node, inputs);
  if (moved !== undefined) return moved;
  const one = reduction(node, inputs) ?? pointwise(node.op, inputs, intOf(node, 'to', 0));
  return one && [one];
}

/** Nodes that a function of one edge may be spelled out with. */
export const functionOps: ReadonlySet<string> = new Set([...pointwiseOps, ...reductionOps]);

function constantOf(node: OnnxNode): Constant {
  const { attributes } = node;
  const [float, int] = [attributes.get('value_float')?.float, attributes.get('value_int')?.int];
  const [floats, ints] = [attributes.get('value_floats')?.floats, attributes.get('value_ints')?.ints];
  const tensor = attributes.get('value')?.tensor;
  if (tensor !== undefined) return tensor;
  if (float !== undefined) return { kind: 'float', dims: [], values: Float64Array.of(float) };
  if (int !== undefined) return { kind: 'int', dims: [], values: Float64Array.of(int) };
  const list = floats ?? ints ?? cannot('a Constant without a number', 'a tensor of numbers');
  return { kind: floats ? 'float' : 'int', dims: [list.length], values: Float64Array.from(list) };
}
