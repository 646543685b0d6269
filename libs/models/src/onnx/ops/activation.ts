/** Pointwise layers without parameters, the sum of two edges, and what stands at the end for the loss. */
import { cannot } from '../../errors.js';
import { floatOf, intOf, textOf } from '../attributes.js';
import { axisOf, isConstant, scalarOf, type Constant } from '../constant.js';
import { isLastAxis, type Members, type NetDraft, type Value } from '../draft.js';
import { edgeInput, optionalConstant, type Rule } from '../rule.js';
import { dimsOf } from '../view.js';
import { probabilities } from './attention.js';
import type { End } from './end.js';

/** One pointwise layer on a value. */
export function activationOf(draft: NetDraft, op: string, given: Value, members: Members = {}): Value {
  const { edge, view } = draft.whole(draft.settled(given));
  return { edge: draft.layer({ op, members }, edge.shape, edge), view };
}

const simple =
  (op: string): Rule =>
  (_node, inputs, { draft }) => [activationOf(draft, op, edgeInput(inputs, 0))];

/** The ends of 16 bits at some fraction: −2^j and the last number below 2^j. */
function isEndOf16Bits(low: Constant | undefined, high: Constant | undefined): boolean {
  if (low?.values.length !== 1 || high?.values.length !== 1) return false;
  const most = -low.values[0]!;
  return most > 0 && Number.isInteger(Math.log2(most)) && high.values[0] === most * (1 - 2 ** -15);
}

const clip: Rule = (node, inputs, { draft, a, tell, isLast }) => {
  const x = edgeInput(inputs, 0);
  const [low, high] = [optionalConstant(inputs, 1, 'minimum'), optionalConstant(inputs, 2, 'maximum')];
  // A net sets its records and its answers to 16 bits itself.
  const isAtEnd = (x.edge.layer === undefined && x.edge.scores === undefined) || isLast(node.outputs[0]!);
  if (isAtEnd && isEndOf16Bits(low, high)) {
    tell(
      `a Clip from ${low!.values[0]!} to ${high!.values[0]!} at an end of the file is left out: the net has it there`,
    );
    return [x];
  }
  if (low === undefined || scalarOf(low, 'the minimum') !== 0)
    cannot('a minimum other than 0', 'Relu, or a Clip from 0');
  const max = high === undefined ? Infinity : scalarOf(high, 'the maximum');
  if (max >= 2 ** (15 - a)) return [activationOf(draft, 'relu', x)];
  const abits = Math.round(Math.log2(max)) + a;
  const isPower = abits >= 1 && abits <= 15 && Math.abs(2 ** (abits - a) - max) <= 2 ** -a;
  return isPower
    ? [activationOf(draft, 'relu', x, { abits })]
    : cannot(`a maximum of ${max}`, `Relu, or a maximum of 2^j up to ${2 ** (14 - a)}`);
};

/** By 2^-8, the step of an edge, nobody can tell them apart. */
export const byTanh = 'Gelu in its tanh form becomes the erf form: they differ by less than 0.0005';

const gelu: Rule = (node, inputs, { draft, tell }) => {
  const form = textOf(node, 'approximate', 'none');
  if (form !== 'none' && form !== 'tanh') cannot(`a Gelu "${form}"`, 'a Gelu "none" or "tanh"');
  if (form === 'tanh') tell(byTanh);
  return [activationOf(draft, 'gelu', edgeInput(inputs, 0))];
};

/** In evaluation a dropout changes nothing; as a layer it is there again in training. */
const dropout: Rule = (node, inputs, { draft }) => {
  const x = edgeInput(inputs, 0);
  if (x.edge.scores !== undefined || x.edge.isTokens) return [x];
  const training = optionalConstant(inputs, 2, 'training mode');
  if (training !== undefined && training.values[0] !== 0)
    cannot('a dropout in training mode', 'an export in evaluation mode');
  const given = optionalConstant(inputs, 1, 'ratio');
  const p16 = Math.round((given === undefined ? floatOf(node, 'ratio', 0.5) : scalarOf(given, 'the ratio')) * 65_536);
  if (!(p16 >= 0 && p16 < 65_536)) cannot(`a ratio of ${p16 / 65_536}`, 'a ratio from 0 to below 1');
  return [p16 === 0 ? x : activationOf(draft, 'dropout', x, { p16 })];
};

/** The sum of two edges of one shape, seen in the same way. */
const sum: Rule = (_node, inputs, { draft }) => {
  const [a, b] = [0, 1].map((k) => draft.whole(draft.settled(edgeInput(inputs, k)))) as [Value, Value];
  if (
    String(dimsOf(a.view)) !== String(dimsOf(b.view)) ||
    JSON.stringify(a.view) !== JSON.stringify(b.view) ||
    String(a.edge.shape) !== String(b.edge.shape)
  ) {
    return cannot(
      `a sum of [${dimsOf(a.view).join()}] and [${dimsOf(b.view).join()}] that lie differently`,
      'two tensors of one shape',
    );
  }
  return [{ edge: draft.layer({ op: 'add', members: {} }, a.edge.shape, a.edge, b.edge), view: a.view }];
};

/** What leaves rows and numbers as they are, and what leaves each number as it is. */
const [passingRows, passingNumbers] = [
  new Set(['Identity']),
  new Set(['Flatten', 'Identity', 'Reshape', 'Squeeze', 'Unsqueeze']),
];

/** A softmax is part of attention, or stands at the end, where the loss has it. */
const softmax: Rule = (node, inputs, scene) => {
  const x = edgeInput(inputs, 0);
  if (node.op === 'Softmax' && x.edge.scores !== undefined) return [probabilities(node, x)];
  if (!scene.isLeft(node.outputs[0]!, passingRows))
    cannot('a softmax within the model', 'attention, or a softmax at the end, over classes');
  const whole = scene.draft.whole(scene.draft.settled(x));
  if (!isLastAxis(whole, axisOf(intOf(node, 'axis', -1), x.view.dims.length)))
    cannot('a softmax over another axis', 'a softmax over the classes, which come last');
  scene.leaveOut(node.op as End, node.name);
  return [whole];
};

const sigmoid: Rule = (node, inputs, scene) => {
  const x = edgeInput(inputs, 0);
  if (!scene.isLeft(node.outputs[0]!, passingNumbers)) return [activationOf(scene.draft, 'sigmoid', x)];
  scene.leaveOut('Sigmoid', node.name);
  return [x];
};

const add: Rule = (node, inputs, scene) =>
  inputs.some((input) => input !== undefined && isConstant(input))
    ? cannot('a sum with constants', 'a bias')
    : sum(node, inputs, scene);

export const activationRules: Readonly<Record<string, Rule>> = {
  Add: add,
  Clip: clip,
  Dropout: dropout,
  Gelu: gelu,
  LogSoftmax: softmax,
  Relu: simple('relu'),
  Sigmoid: sigmoid,
  Softmax: softmax,
  Tanh: simple('tanh'),
};
