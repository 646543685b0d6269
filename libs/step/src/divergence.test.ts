import { expect, it } from 'vitest';
import { smallNet } from '#test/net-agreement';
import { tinyManifest } from '#test/tiny-job';
import { coarseGrowth, explained, growthOf } from './divergence.js';
import { GuardViolation } from './errors.js';

it('growth is taken over the last eight steps, from one that was not 0', () => {
  expect(growthOf([1, 2, 4])).toEqual({ factor: 4, steps: 2 });
  expect(growthOf([9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 3])).toEqual({ factor: 3, steps: 8 });
  expect(growthOf([0, 0, 2, 6])).toEqual({ factor: 3, steps: 1 });
});

it('without an earlier step there is none', () => {
  expect([growthOf([]), growthOf([5]), growthOf([0, 5]), growthOf([0, 0])]).toEqual([null, null, null, null]);
});

it('is told coarsely to the next power of two', () => {
  const coarse = (factor: number) => coarseGrowth({ factor, steps: 3 })!.factor;
  expect([0.5, 1, 1.01, 4, 5].map(coarse)).toEqual([1, 1, 2, 4, 8]);
  expect(coarseGrowth(null)).toBeNull();
});

const violation = (tensor: string, step = 6) => new GuardViolation(step, tensor, '-1..1', 'of magnitude 2');
const growth = { factor: 8, steps: 3 };

it('a rate of a schedule is lowered by one more than it grew a step', () => {
  const lr = {
    frac: 24,
    points: [
      [0, 0],
      [12, 1 << 20],
    ],
  };
  const m = smallNet([{ op: 'dense', out: 3 }], { steps: 12, optimizer: { kind: 'sgd', lr } });
  expect(explained(violation('n0.W'), m, growth).detail).toMatchObject({
    got: 'step 6, tensor n0.W, value of magnitude 2, 8 times as large as 3 steps before',
    action:
      'lower the learning rate to 1/3 of it: optimizer.lr at step 6 from 524288·2^-24 = 0.0313 to 174762·2^-24 = 0.0104, ' +
      'its other points (or --lr of model init) alike; or give weights more room (wint)',
  });
});

it('a step size of exact descent is lowered while it is above 1, then the exponent raised', () => {
  const m = smallNet([{ op: 'dense', out: 3 }], {
    optimizer: {
      kind: 'sgd-exact',
      e: 4,
      m: [
        [0, 8],
        [6, 3],
        [7, 2],
      ],
    },
  });
  const advice = (step: number) => explained(violation('n0', step), m, growth).detail.action;
  expect([5, 6, 7].map(advice).map((text) => text!.split(/: |;/)[1])).toEqual([
    'm of optimizer.m at step 5 from 8 to 2 (--lr 0.33 of model init)',
    'm of optimizer.m at step 6 from 3 to 1 (--lr 0.33 of model init)',
    'e from 4 to 6 (--lr 0.33 of model init)',
  ]);
});

it('where nobody saw it grow, half of the rate is tried', () => {
  const { detail, growth: none } = explained(violation('W1'), tinyManifest({ e: 3 }), null);
  expect(none).toBeNull();
  expect(detail.got).toBe('step 6, tensor W1, value of magnitude 2');
  expect(detail.action).toMatch(/^lower the learning rate to 1\/2 of it: .*; or give weights more room \(wint\)$/);
});
