/** The one registry of what nodes become, and what to say of those that become nothing. */
import type { Rule } from '../rule.js';
import { viewRules } from '../view-rules.js';
import { activationRules } from './activation.js';
import { convolutionRules } from './convolution.js';
import { embeddingRules } from './embedding.js';
import { linearRules } from './linear.js';
import { normRules } from './normalization.js';
import { poolRules, reduceRule } from './pooling.js';

export { ended, flagFrom, lossOf } from './end.js';

const rules: Readonly<Record<string, Rule>> = {
  ...activationRules,
  ...convolutionRules,
  ...embeddingRules,
  ...linearRules,
  ...normRules,
  ...poolRules,
  ...viewRules,
  GlobalAveragePool: reduceRule,
  ReduceMean: reduceRule,
};

export function ruleOf(op: string): Rule | undefined {
  return Object.hasOwn(rules, op) ? rules[op] : undefined;
}

const recurrent = ['a recurrent layer', 'attention over the sequence, or a convolution over its window'] as const;
const shrinking = [
  'an activation that is not among the layers',
  'Relu, Gelu (erf), x·Sigmoid(x), Tanh or Sigmoid',
] as const;
const resized = ['a layer that enlarges maps', 'upsample outside, or a dense layer'] as const;
const branching = ['a branch or loop', 'an export of one path, with the choice made beforehand'] as const;

const unsupported: Readonly<Record<string, readonly [string, string]>> = {
  ...Object.fromEntries(['LSTM', 'GRU', 'RNN'].map((op) => [op, recurrent])),
  ...Object.fromEntries(
    [
      'LeakyRelu',
      'PRelu',
      'Elu',
      'Selu',
      'HardSwish',
      'HardSigmoid',
      'Softplus',
      'Mish',
      'Celu',
      'ThresholdedRelu',
    ].map((op) => [op, shrinking]),
  ),
  ...Object.fromEntries(
    ['ConvTranspose', 'Resize', 'Upsample', 'DepthToSpace', 'MaxUnpool'].map((op) => [op, resized]),
  ),
  ...Object.fromEntries(['If', 'Loop', 'Scan'].map((op) => [op, branching])),
  Attention: ['attention as one node', 'an export with opset_version up to 22, which spells it out'],
  Concat: ['a join of edges', 'one layer with more outputs, or a sum'],
  GlobalMaxPool: ['a maximum over the whole map', 'GlobalAveragePool, or MaxPool with a kernel of the map'],
  GroupNormalization: ['a norm over groups', 'LayerNormalization over the channels'],
  InstanceNormalization: [
    'a norm over the map',
    'LayerNormalization over the channels, or BatchNormalization with fixed statistics',
  ],
  LRN: ['a local norm', 'LayerNormalization over the channels'],
  LpNormalization: ['a norm by length', 'SimplifiedLayerNormalization (root mean square)'],
  Mul: ['a product of two edges', 'gates as x·Sigmoid(x); else a dense layer'],
  QuantizeLinear: ['a quantised model', 'the float model it was made from'],
  Sub: ['a difference of two edges', 'a sum, with the sign in the layer before it'],
};

/** Reason and alternative. */
export function insteadOf(op: string): readonly [string, string] {
  const known = Object.hasOwn(unsupported, op) ? unsupported[op] : undefined;
  return known ?? ['no layer of fxt/2 does this', 'the layers of the table in libs/models/README.md'];
}
