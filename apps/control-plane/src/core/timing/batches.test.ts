import { expect, it } from 'vitest';
import { Batches, type Outcome } from './batches.js';

it('does together what is asked for while an earlier round runs, and answers each by itself', async () => {
  const sizes: number[] = [];
  const double = new Batches().make({ size: 4, rounds: 1 }, async (items: readonly number[]) => {
    sizes.push(items.length);
    await new Promise((resolve) => setImmediate(resolve));
    return items.map((item): Outcome<number> => (item === 3 ? { error: new Error('three') } : { value: 2 * item }));
  });
  const answers = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(double));
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason)))).toEqual([
    ...[2, 4, 'Error: three', 8, 10, 12],
  ]);
  expect(sizes).toEqual([4, 2]);
  expect(await double(7)).toBe(14);
});

it('fails a round whole, and goes on', async () => {
  let rounds = 0;
  const work = new Batches().make({ size: 2, rounds: 2 }, async (items: readonly number[]) => {
    if ((rounds += 1) === 1) throw new Error('no');
    return items.map((value) => ({ value }));
  });
  const answers = await Promise.allSettled([1, 2, 3].map(work));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

it('begins the first round at once, and the next when it is full or time has passed', async () => {
  const sizes: number[] = [];
  const work = new Batches().make(
    { size: 2, rounds: 1, apartMilliseconds: 3_600_000 },
    async (items: readonly number[]) => {
      sizes.push(items.length);
      return items.map((value) => ({ value }));
    },
  );
  expect(await work(1)).toBe(1);
  const second = work(2);
  expect(await Promise.all([second, work(3)])).toEqual([2, 3]);
  expect(sizes).toEqual([1, 2]);
  const soon = new Batches().make({ size: 9, rounds: 1, apartMilliseconds: 5 }, async (items: readonly number[]) =>
    items.map((value) => ({ value })),
  );
  for (const n of [1, 2, 3]) expect(await soon(n)).toBe(n);
});
