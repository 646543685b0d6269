import { expect, it } from 'vitest';
import type { DataHeader } from '#libs/step';
import { answers } from './answers.js';

const edge = { a: 10, shape: [5] };
const columns = [
  { name: 'hot', kind: 'flag', values: ['no', 'yes'] },
  { name: 'color', kind: 'category', values: ['red', 'blue', 'green'] },
  { name: 'sex', kind: 'flag', values: ['female', 'male'] },
] as const;

it("says the probability of each of several labels: of a flag that of its second value, of a category the answer's", () => {
  const label = { kind: 'vector', count: 5, columns } as unknown as DataHeader['label'];
  const { columns: names, of } = answers({ label }, edge);
  expect(names).toEqual(['hot', 'color', 'sex', 'hot=yes probability', 'color probability', 'sex=male probability']);
  // 1/(1 + e^-x) of 1, of -0.5 and of -2.
  expect(of([1024, -2048, -512, -1024, -2048])).toEqual(['yes', 'blue', 'female', '0.731059', '0.377541', '0.119203']);
});

it('says it by number where nothing is known of the labels', () => {
  const label: DataHeader['label'] = { kind: 'vector', count: 2, columns: [] };
  const { columns: names, of } = answers({ label }, { a: 10, shape: [2] });
  expect(names).toEqual(['label 0', 'label 1', 'label 0=1 probability', 'label 1=1 probability']);
  expect(of([0, 1])).toEqual(['0', '1', '0.500000', '0.500244']);
});

it('tells numbers apart that are one bit of the net from each other, however far from 0 their center is', () => {
  const column = { name: 'when', kind: 'number', center: 1_700_000_000, scale: 600 } as const;
  const label: DataHeader['label'] = { kind: 'real', count: 1, frac: 10, columns: [column] };
  const { of } = answers({ label }, { a: 10, shape: [1] });
  const texts = [-1, 0, 1, 2].map((value) => of([value])[0]!);
  expect(texts).toEqual(['1699999999.41', '1700000000', '1700000000.59', '1700000001.17']);
  const near = answers({ label: { ...label, columns: [{ ...column, center: 0 }] } }, { a: 10, shape: [1] });
  expect([0, 1, -32_768].map((value) => near.of([value])[0])).toEqual(['0', '0.5859375', '-19200']);
});
