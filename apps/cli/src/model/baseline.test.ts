import { expect, it } from 'vitest';
import type { DataHeader } from '#libs/step';
import { readingOf } from '#libs/models';
import { baselineLines, ConstantAnswer, worseThan } from './baseline.js';

const baseline = (label: DataHeader['label'], ...chunks: readonly (readonly number[])[]) => {
  const constant = new ConstantAnswer({ label });
  for (const chunk of chunks) constant.add(chunk);
  return constant.result();
};

it('of classes is the commonest one, and names those that no row has', () => {
  const column = { kind: 'category', name: 'kind', values: ['fraud', 'ok', 'other'] } as const;
  const found = baseline({ kind: 'class', classes: 3, columns: [column] }, [1, 1, 0], [1]);
  expect(found).toEqual({ answer: '"ok" alone', metrics: [{ name: 'accuracy', value: 0.75 }], absent: ['other'] });
  expect(baselineLines(found)).toEqual([
    ['baseline', '"ok" alone would be accuracy 0.75000'],
    ['note', 'none of the rows that are measured has the class other'],
  ]);
});

it('of numbers is the center of the header, whatever rows it is of, in their own unit', () => {
  const price = { kind: 'number', name: 'price', center: 100, scale: 10 } as const;
  // One deviation up, one down, two down: 10, 10 and 20 from the mean.
  const found = baseline({ kind: 'real', count: 1, frac: 12, columns: [price] }, [4096, -4096, -8192]);
  expect(found.answer).toBe('the number on which the label is centered, 100, alone');
  expect(found.metrics).toEqual([
    { name: 'rmse', value: expect.closeTo(Math.sqrt(200), 9) as number },
    { name: 'mean absolute error', value: expect.closeTo(40 / 3, 9) as number },
  ]);
});

it('of several numbers is told in the spread of each, for their units differ', () => {
  const number = { kind: 'number', center: 100, scale: 10 } as const;
  const columns = [
    { ...number, name: 'price' },
    { ...number, name: 'rent', scale: 3 },
  ];
  const found = baseline({ kind: 'real', count: 2, frac: 12, columns }, [4096, -4096, 4096, -4096]);
  expect(found.metrics[0]).toEqual({
    name: 'rmse',
    value: expect.closeTo(1, 9) as number,
    unit: "each label's spread",
  });
  expect(baselineLines(found)[0]![1]).toMatch(/mean absolute error 1\.0000, in units of each label's spread$/);
});

it('of several labels is the commonest value of each, of text the commonest token', () => {
  const vector = baseline({ kind: 'vector', count: 2, columns: [] }, [1, 0, 1, 0, 0, 1, 1, 0]);
  expect(vector.metrics).toEqual([{ name: 'label-accuracy', value: 6 / 8 }]);
  expect(baseline({ kind: 'tokens' }, [7, 3, 7, 1]).metrics).toEqual([{ name: 'accuracy', value: 0.5 }]);
});

it('is better than a model only beyond two standard errors: not by a row, nor by what two samples differ in', () => {
  const classes = { kind: 'class', classes: 2, columns: [] } as const;
  const vector = { kind: 'vector', count: 2, columns: [] } as const;
  const shareOf = (label: typeof classes | typeof vector, rights: number, of: number, own: number) => {
    const found = baseline(
      label,
      Array.from({ length: of }, (_, i) => Number(i < rights)),
    );
    const metric = label.kind === 'class' ? 'accuracy' : 'label-accuracy';
    const measured = readingOf({ label }, { metric, numerator: BigInt(own), denominator: BigInt(of) });
    return worseThan({ label }, found, [measured]);
  };
  expect(shareOf(classes, 60, 100, 59)).toBeUndefined();
  expect(shareOf(classes, 60, 100, 61)).toBeUndefined();
  expect(shareOf(classes, 60, 100, 40)).toEqual({ name: 'accuracy', value: 0.4, constant: 0.6 });
  expect(shareOf(vector, 100, 100, 40)).toMatchObject({ name: 'label-accuracy', value: 0.4 });

  const label = { kind: 'real', count: 1, frac: 12, columns: [] } as const;
  const errorOf = (rows: number, rmse: number) => {
    const found = baseline(
      label,
      Array.from({ length: rows }, (_, i) => (i % 2 === 0 ? 4096 : -4096)),
    );
    const numerator = BigInt(Math.round(rows * (rmse * 4096) ** 2));
    return worseThan({ label }, found, [readingOf({ label }, { metric: 'sse', numerator, denominator: BigInt(rows) })]);
  };
  expect(errorOf(16, 1.05)).toBeUndefined();
  expect(errorOf(16, 0.5)).toBeUndefined();
  expect(errorOf(16, 1.5)).toMatchObject({ name: 'rmse', constant: 1 });
  expect(errorOf(10_000, 1.05)).toMatchObject({ name: 'rmse' });
  expect(errorOf(10_000_000, 1.005)).toBeUndefined();
});
