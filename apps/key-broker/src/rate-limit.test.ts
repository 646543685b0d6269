import { describe, expect, it } from 'vitest';
import { createRateLimit } from './rate-limit.js';

const drained = (address: string) => {
  const limit = createRateLimit('requests', { burst: 3, perSecond: 2 });
  for (let index = 0; index < 3; index++) limit.take(address, 0);
  return limit;
};

describe('the rate of one address', () => {
  it('is a burst, and then what time brings', () => {
    const limit = drained('192.0.2.1');
    expect(() => limit.take('192.0.2.1', 400)).toThrow('RATE_LIMITED');
    limit.take('192.0.2.1', 500);
    expect(() => limit.take('192.0.2.1', 600)).toThrow('RATE_LIMITED');
    for (let index = 0; index < 3; index++) limit.take('192.0.2.1', 60_000);
    expect(() => limit.take('192.0.2.1', 60_000)).toThrow('RATE_LIMITED');
  });

  it('W-H1 is its own: another address has its burst', () => {
    drained('192.0.2.1').take('192.0.2.2', 0);
    drained('2001:db8::1').take('2001:db8:0:1::1', 0);
  });

  it.each([
    ['2001:db8::1', '2001:db8:0:0:1:2:3:4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
  ])('is shared by %s and %s, which are one host', (one, other) => {
    expect(() => drained(one).take(other, 0)).toThrow('RATE_LIMITED');
  });

  it('is remembered for a bounded number of addresses', () => {
    const limit = drained('192.0.2.1');
    for (let index = 0; index < 10_000; index++)
      limit.take(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 1);
    limit.take('192.0.2.1', 1);
  });
});
