import { expect, it } from 'vitest';
import { edgeWords } from './edge-words.js';

const edge = (name: string, saturated: number, zeros: number, errors = 1000) => ({
  ...{ edge: name, values: 1000, saturatedValues: saturated, errors, saturatedErrors: 0, zeroErrors: zeros },
});

it('says how much of all edges lies at an end, how much of errors is 0, and where most', () => {
  expect(edgeWords([edge('n0', 0, 900), edge('n1', 40, 100)])).toEqual([
    'saturated 1 % (n1 2 %)',
    'zero errors 50 % (n0 90 %)',
  ]);
});

it('shows no share as 0 that is not', () => {
  expect(edgeWords([edge('n0', 1, 0), edge('n1', 0, 0)])).toEqual(['saturated <0.1 % (n0 <0.1 %)', 'zero errors 0 %']);
});

it('says nothing of what was not counted', () => {
  expect(edgeWords([])).toEqual([]);
  expect(edgeWords([{ ...edge('Y2', 0, 5, 10), values: 0 }])).toEqual(['saturated 0 %', 'zero errors 50 %']);
  expect(edgeWords([edge('n0', 0, 0, 0)])).toEqual(['saturated 0 %']);
});
