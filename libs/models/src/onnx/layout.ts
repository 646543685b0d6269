/** Whether images come channels first (PyTorch) or last (Keras): what reads them says. */
import { intsOf } from './attributes.js';
import type { OnnxModel } from './decode.js';

const spatial: ReadonlySet<string> = new Set([
  'AveragePool',
  'BatchNormalization',
  'Conv',
  'GlobalAveragePool',
  'MaxPool',
]);
const passing: ReadonlySet<string> = new Set(['Add', 'Cast', 'Div', 'Identity', 'Mul', 'Sub']);
const stepsMax = 64;
const colours = [1, 3, 4];

/** @param dims of a record of three axes */
export function isNchw(model: OnnxModel, input: string, dims: readonly number[]): boolean {
  const names = new Set([input]);
  let steps = 0;
  for (const node of model.nodes) {
    const [first] = node.inputs;
    if (!node.inputs.some((name) => names.has(name))) continue;
    if (++steps > stepsMax) break;
    if (node.op === 'Transpose') return String(intsOf(node, 'perm')) !== '0,3,1,2';
    if (spatial.has(node.op) && names.has(first!)) return true;
    if (passing.has(node.op)) for (const name of node.outputs) names.add(name);
  }
  return colours.includes(dims[0]!) || !colours.includes(dims[2]!);
}
