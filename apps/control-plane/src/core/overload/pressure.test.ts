import { expect, it } from 'vitest';
import { Pressure } from './pressure.js';

const limits = { delayMilliseconds: 100, waiting: 50 };

it('rises with the mean delay, at once and as far as it has to', () => {
  const pressure = new Pressure(limits);
  expect(pressure.sample(200, 0)).toBe(0);
  expect(pressure.sample(300, 0)).toBe(1);
  expect(pressure.sample(500, 0)).toBe(2);
  expect(pressure.sample(1000, 0)).toBe(3);
});

it('rises with statements that wait', () => {
  const pressure = new Pressure(limits);
  expect([49, 50, 100, 199, 200].map((waiting) => pressure.sample(0, waiting))).toEqual([0, 1, 2, 2, 3]);
});

it('falls one step for every quiet second, and not while it is still needed', () => {
  const pressure = new Pressure(limits);
  pressure.sample(0, 200);
  const levels = Array.from({ length: 30 }, () => pressure.sample(0, 0));
  expect(levels.slice(0, 9)).toEqual(Array(9).fill(3));
  expect(levels.slice(9, 19)).toEqual(Array(10).fill(2));
  expect(levels.at(-1)).toBe(0);
  for (let sample = 0; sample < 40; sample += 1) expect(pressure.sample(0, 60)).toBe(1);
});
