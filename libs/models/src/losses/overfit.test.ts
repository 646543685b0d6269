import { expect, it } from 'vitest';
import type { DataHeader } from '#libs/step';
import { overfitOf } from './overfit.js';

const features = { dtype: 'int16', shape: [2], frac: 12 } as const;
const loss = (step: number, numerator: number) => ({
  step,
  metrics: [
    { metric: 'accuracy', numerator: '1', denominator: '1' },
    { metric: 'loss', numerator: String(numerator), denominator: '65536' },
  ],
});
const classes: Pick<DataHeader, 'label' | 'features'> = { features, label: { kind: 'class', classes: 2, columns: [] } };

it('is told where the loss at the end is clearly above the best, by step', () => {
  const curve = [loss(10, 2 ** 32), loss(20, 2 ** 31), loss(30, 3 * 2 ** 31)];
  expect(overfitOf(classes, curve)).toEqual({
    ...{ name: 'loss', best: { step: 20, value: 0.5 }, last: { step: 30, value: 1.5 } },
  });
  expect(overfitOf(classes, [...curve, loss(40, 2 ** 31 + 2 ** 27)])).toBeNull();
  expect(overfitOf(classes, curve.slice(0, 2))).toBeNull();
  expect(overfitOf(classes, [])).toBeNull();
});

const vector: typeof classes = { features, label: { kind: 'vector', count: 2, columns: [] } };
const shares = (labels: number, ...right: number[]) =>
  right.map((one, step) => ({
    step,
    metrics: [{ metric: 'label-accuracy', numerator: String(one), denominator: String(labels) }],
  }));

it('goes by what is wrong of a share', () => {
  const curve = shares(100, 90, 50);
  expect(overfitOf(vector, curve)).toMatchObject({
    name: 'label-accuracy',
    best: { value: 0.9 },
    last: { value: 0.5 },
  });
  expect(overfitOf(vector, curve.toReversed())).toBeNull();
});

it('takes no accident of a few rows, and no last bit, for a training that went too far', () => {
  expect(overfitOf(vector, shares(90, 89, 88))).toBeNull();
  expect(overfitOf(vector, shares(90, 90, 88))).toBeNull();
  expect(overfitOf(vector, shares(40, 38, 36))).toBeNull();
  expect(overfitOf(vector, shares(4000, 3800, 3600))).toMatchObject({ best: { step: 0 } });
  expect(overfitOf(classes, [loss(10, 0), loss(20, 2 ** 16)])).toBeNull();
  expect(overfitOf(classes, [loss(10, 0), loss(20, 2 ** 27)])).toMatchObject({ best: { step: 10, value: 0 } });
  const real: typeof classes = {
    features,
    label: { kind: 'real', count: 1, frac: 10, columns: [{ name: 'price', kind: 'number', center: 100, scale: 8 }] },
  };
  const sse = (step: number, rmse: number) => ({
    step,
    metrics: [{ metric: 'sse', numerator: String(16 * Math.round(rmse * 128) ** 2), denominator: '16' }],
  });
  expect(overfitOf(real, [sse(1, 0), sse(2, 0.0625)])).toBeNull();
  expect(overfitOf(real, [sse(1, 0), sse(2, 0.125)])).toMatchObject({ name: 'rmse', last: { value: 0.125 } });
});
