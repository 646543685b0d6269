/** Dates agree with the platform's own over the years that documents name. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isoTime } from './time.js';

it('is the platform’s RFC 3339, leap days and ends of years too', () => {
  const own = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  for (const seconds of [0, 951_782_400, 951_868_799, 1_709_164_800, 4_107_542_400, 253_402_300_799]) {
    expect(isoTime(seconds)).toBe(own(seconds));
  }
  fc.assert(fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => isoTime(seconds) === own(seconds)));
});
