import { describe, expect, it } from 'vitest';
import { domainPoint } from '../commit/field/domain.js';
import { P, mul, pow } from '../commit/field/goldilocks.js';
import { plainBackend } from './plain-backend.js';

describe('row code (libs/zk/SPEC.md §9.1)', () => {
  it('has the published domain', () => {
    const points = Array.from({ length: 8 }, (_, i) => domainPoint(i, 2, 1));
    expect(points).toEqual([
      7n,
      P - 7n,
      mul(7n, 1n << 48n),
      P - mul(7n, 1n << 48n),
      0xfffffffef9000001n,
      0x7000000n,
      0xfffff8ff00000701n,
      0x6fffffff900n,
    ]);
  });

  it('encodes the published row', () => {
    const row = { messages: [BigUint64Array.of(1n, 2n, 3n, 4n)], random: BigUint64Array.of(5n) };
    expect([...plainBackend.encodeRows(row, { m: 2, logBlowup: 1 })]).toEqual([
      0x34e3n,
      0x2a0fn,
      0xfab1ffff00002e54n,
      0x54e000000002e53n,
      0x8da3fff2052d1cn,
      0x985c000dfa751cn,
      0xff6cf1f9a3ffdf1dn,
      0xff6d0e045bffc31dn,
    ]);
  });

  it('agrees with Horner on a longer row', () => {
    const message = BigUint64Array.from({ length: 16 }, (_, j) => pow(3n, BigInt(5 * j + 1)));
    const random = BigUint64Array.of(9n, 8n, P - 1n);
    const code = plainBackend.encodeRows({ messages: [message], random }, { m: 4, logBlowup: 2 });
    const coefficients = [...message, ...random];
    code.forEach((symbol, i) => {
      const y = domainPoint(i, 4, 2);
      expect(symbol).toBe(coefficients.reduceRight((value, coefficient) => (value * y + coefficient) % P, 0n));
    });
  });
});
