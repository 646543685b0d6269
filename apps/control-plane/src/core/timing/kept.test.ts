import { expect, it } from 'vitest';
import { Clock } from './clock.js';
import { keptFor } from './kept.js';

class MovedClock extends Clock {
  milliseconds = 0;
  override monotonic(): number {
    return this.milliseconds;
  }
}

it('finds once for all who ask within the time, failures too, and anew after it', async () => {
  const clock = new MovedClock();
  let asked = 0;
  const ask = keptFor(100, clock, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if ((asked += 1) === 2) throw new Error('away');
    return asked;
  });
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  clock.milliseconds = 99;
  expect(await ask()).toBe(1);
  clock.milliseconds = 100;
  for (let time = 0; time < 3; time++) await expect(ask()).rejects.toThrow('away');
  clock.milliseconds = 200;
  expect(await ask()).toBe(3);
});
