/** Ids of layers that look like names of a graph or of the optimizer (libs/step/SPEC.md §21, §26). */
import { expect, it } from 'vitest';
import {
  engineOutcome,
  randomExamples,
  randomParameters,
  referenceOutcome,
  seeded,
  smallNet,
} from '#test/net-agreement';

const dense = (id: string, more: object = {}) => ({ op: 'dense', out: 3, id, ...more });

it.each([
  ['of a step', [dense('x'), dense('step.x', { frozen: true }), dense('y')]],
  ['of numbers of a step', [dense('input.x'), { op: 'dropout', p16: 3000, id: 'x.W' }, dense('y')]],
  ['of parameters', [dense('x'), dense('x.W'), dense('x.b')]],
])('ids as names %s', async (_, layers) => {
  const m = smallNet(layers);
  const next = seeded(3);
  const parameters = randomParameters(m, next, 2 ** -3);
  const examples = randomExamples(m, next, 2 ** -4);
  expect(await engineOutcome(m, parameters, examples)).toEqual(referenceOutcome(m, parameters, examples));
});

const adamw = { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 1]] } };
const momentum = { kind: 'sgd-exact', e: 4, m: [[0, 1]], q: 3 };

it.each<[string, object, object]>([
  ['m1.x', adamw, {}],
  ['m2.x', adamw, { frozen: true }],
  ['V.x', momentum, {}],
])('an id %s beside x is refused, whose momentum it calls a parameter by', (id, optimizer, more) => {
  expect(() => smallNet([dense('x'), dense(id, more)], { optimizer })).toThrow('OP_INPUT');
  expect(() => smallNet([dense('x', { frozen: true }), dense(id)], { optimizer })).not.toThrow();
  expect(() => smallNet([dense('x'), dense(id)])).not.toThrow();
});
