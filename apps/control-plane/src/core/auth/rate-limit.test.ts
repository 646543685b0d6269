import { expect, it } from 'vitest';
import { RateLimit } from './rate-limit.js';

const minute = 60_000;

it('lets the limit through in any minute, for each subject apart, and says when the next may come', () => {
  const rate = new RateLimit();
  const start = 7 * minute + 30_000;
  for (let call = 0; call < 10; call += 1) expect(rate.take('a', 10, start)).toBe(0);
  const wait = rate.take('a', 10, start);
  expect(wait).toBeGreaterThan(0);
  expect(rate.take('b', 10, start)).toBe(0);
  expect(rate.take('a', 10, start + 1000 * (wait - 2))).toBeGreaterThan(0);
  expect(rate.take('a', 10, start + 1000 * (wait + 1))).toBe(0);
});

it('never lets through more than the limit in a window and the share of the one before', () => {
  const rate = new RateLimit();
  let passed = 0;
  for (let at = 0; at < 3 * minute; at += 100) passed += rate.take('a', 60, at) === 0 ? 1 : 0;
  expect(passed).toBeGreaterThan(120);
  expect(passed).toBeLessThanOrEqual(3 * 60 + 1);
});

it('keeps its memory when subjects are invented', () => {
  const rate = new RateLimit();
  for (let subject = 0; subject < 100_000; subject += 1) rate.take(`${subject}`, 5, 0);
  const waits = Array.from({ length: 10 }, (_, subject) => rate.take(`more ${subject}`, 5, 0));
  expect(waits.filter((wait) => wait === 0)).toHaveLength(5);
  expect(rate.take('7', 5, 0)).toBe(0);
});
