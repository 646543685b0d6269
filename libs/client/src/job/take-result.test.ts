import { expect, it } from 'vitest';
import { planModel } from '#libs/models';
import { drawnParameters, parseDataHeader } from '#libs/step';
import { figuresOf, modelFiles, overfitIn } from './take-result.js';

const price = { name: 'price', kind: 'number', center: 100, scale: 8 };
const header = parseDataHeader({
  ...{ layout: 2, features: { dtype: 'int16', shape: [2], frac: 12 }, split: 'given', tokenizer: null },
  ...{ label: { kind: 'real', count: 1, frac: 10, columns: [price] }, columns: [] },
});
const sse = { metric: 'sse', numerator: String(4 * 2 ** 20), denominator: '16', figure: 'sse 4194304/16' };
const evaluations = {
  ...{ validationRoot: '0x', records: 16, deliveredStep: 4, reason: null },
  curve: [
    { step: 4, metrics: [sse] },
    { step: 8, metrics: [{ ...sse, numerator: '1' }] },
  ],
};

it('tells the signed figures of what is delivered, in units of the data where they are known', () => {
  // Half a standard deviation of 8.
  const metrics = [{ ...sse, figure: 'rmse 4', name: 'rmse', scale: (8 * 2 ** -10) ** 2 }];
  expect(figuresOf({ evaluations }, { header })).toEqual({ step: 4, records: 16, metrics });
  expect(figuresOf({ evaluations }, null)).toEqual({ step: 4, records: 16, metrics: [sse] });
  expect(figuresOf({ evaluations: null }, { header })).toBeNull();
});

it('leaves a figure as it is that such data has no reading of', () => {
  const auc = { metric: 'auc', numerator: '1', denominator: '2', figure: 'auc 50 %' };
  const curve = [{ step: 4, metrics: [auc] }];
  expect(figuresOf({ evaluations: { ...evaluations, curve } }, { header })!.metrics).toEqual([auc]);
});

it('tells that figures before those of what is delivered were better', () => {
  const curve = evaluations.curve.toReversed().map((one, index) => ({ ...one, step: 4 * (index + 1) }));
  const found = { evaluations: { ...evaluations, curve, deliveredStep: 8 } };
  expect(overfitIn(found, { header })).toMatchObject({ name: 'rmse', best: { step: 4 }, last: { step: 8, value: 4 } });
  expect(overfitIn({ evaluations: { ...found.evaluations, deliveredStep: 4 } }, { header })).toBeNull();
  expect(overfitIn(found, null)).toBeNull();
});

it('writes what the model takes and answers with beside it, where it is known how the data was read', () => {
  const size = { name: 'size', kind: 'number', center: 80, scale: 20 };
  const table = parseDataHeader({
    ...{ layout: 2, features: { dtype: 'int16', shape: [1], frac: 12 }, split: 'given', tokenizer: null },
    ...{ label: { kind: 'real', count: 1, frac: 10, columns: [price] }, columns: [size] },
  });
  const rows = { train: 64, validation: 0 };
  const { manifest } = planModel({
    header: table,
    rows,
    seed: `0x${'5a'.repeat(32)}`,
    epochs: 1,
    optimizer: 'sgd-exact',
  });
  const result = { manifest, weights: drawnParameters(manifest) };
  const { 'interface.json': ends, ...others } = modelFiles(result, { header: table });
  expect(Object.keys(others)).toEqual(['model.onnx', 'weights.bin', 'header.json']);
  expect(JSON.parse(String(ends))).toMatchObject({
    input: { type: 'float32', columns: [{ ...size, from: 0, count: 1, range: [80 - 8 * 20, expect.any(Number)] }] },
    output: { unit: 'own', columns: [{ name: 'price', center: 100, scale: 8 }] },
  });
  expect(Object.keys(modelFiles(result, null))).toEqual(['model.onnx', 'weights.bin']);
});
