import { expect, it } from 'vitest';
import { dateOf } from './date.js';

it('writes dates as the calendar has them', () => {
  for (let day = 0; day < 200_000; day += 97) {
    const time = day * 86_400_000 + ((day * 7919) % 86_400_000);
    expect(dateOf(`${time}`)).toBe(new Date(time).toISOString());
  }
  for (const time of [951_782_400_000, 951_868_799_999, 1_709_164_800_000, 4_107_542_400_000, 253_402_300_799_999]) {
    expect(dateOf(`${time}`)).toBe(new Date(time).toISOString());
  }
  for (const none of ['-1', 'x', '1.5', '253402300800000']) expect(dateOf(none)).toBeUndefined();
});
