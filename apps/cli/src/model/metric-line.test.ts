import { expect, it } from 'vitest';
import { readingOf } from '#libs/models';
import { parseDataHeader, type DataHeader } from '#libs/step';
import { metricLine } from './metric-line.js';

const headerOf = (label: object): DataHeader =>
  parseDataHeader({
    ...{ layout: 2, features: { dtype: 'int16', shape: [2], frac: 12 }, columns: [], split: 'given', tokenizer: null },
    label,
  });
const classes = headerOf({ kind: 'class', classes: 2, columns: [] });
const tokens = parseDataHeader({
  ...{ layout: 2, features: { dtype: 'tokens', shape: [8], vocab: 9 }, columns: [], split: 'given', tokenizer: null },
  label: { kind: 'tokens' },
});
const price = { name: 'price', kind: 'number', center: 4_794.71, scale: 5_529.260305940178 };
const prices = headerOf({ kind: 'real', count: 1, frac: 12, columns: [price] });

const two = headerOf({ kind: 'real', count: 2, frac: 12, columns: [price, { ...price, name: 'rent', scale: 3 }] });

it.each([
  [classes, 'accuracy', '9', '12', ['accuracy', '0.75000  (9/12)']],
  [classes, 'accuracy', '0', '12', ['accuracy', '0.0000  (0/12)']],
  [classes, 'loss', '6428818', '200', ['loss', '0.49048  (exact loss 6428818/200 × 2^-16)']],
  [tokens, 'loss', '6428818', '200', ['perplexity', '1.6331  (e to the exact loss 6428818/200 × 2^-16)']],
  [
    ...([prices, 'sse', '10699412422000000', '2000'] as const),
    ['rmse', '3122300  (root of exact sse 10699412422000000/2000 × 1.8223)'],
  ],
  [prices, 'sse', '10699412422', '2000', ['rmse', '3122.3  (root of exact sse 10699412422/2000 × 1.8223)']],
  [
    ...([two, 'sse', '33554432', '2'] as const),
    ['rmse', "1.0000  (in units of each label's spread; root of exact sse 33554432/2 × 2^-24)"],
  ],
  [prices, 'sae', '2679438', '2000', ['mean absolute error', '1808.5  (exact sae 2679438/2000 × 1.3499)']],
])('%#: tells what a value follows from, factor and all', (header, metric, numerator, denominator, line) => {
  expect(metricLine(readingOf(header, { metric, numerator, denominator }))).toEqual(line);
});
