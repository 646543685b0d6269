import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from './bytes.js';
import { decodeCanonical, decodeForeign, encodeCanonical, type CborValue } from './cbor.js';

const scalar: fc.Arbitrary<CborValue> = fc.oneof(
  fc.maxSafeInteger(),
  fc
    .bigInt({ min: -(1n << 63n), max: (1n << 64n) - 1n })
    .map((n) => (n >= -9007199254740991n && n <= 9007199254740991n ? Number(n) : n)),
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 40 }),
);
const { value: anyValue } = fc.letrec<{ value: CborValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), fc.integer()), tie('value')), { maxLength: 4 })
      .map((entries) => new Map(entries)),
  ),
}));

describe('deterministic CBOR', () => {
  it('gives back what it encoded, and nothing else encodes to it', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const bytes = encodeCanonical(value);
        expect(decodeCanonical(bytes)).toEqual(value);
        expect(decodeForeign(bytes)).toEqual(value);
        expect(encodeCanonical(decodeCanonical(bytes))).toEqual(bytes);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  // RFC 8949, appendix A: the rows of this subset.
  it.each<[string, CborValue]>([
    ['00', 0],
    ['17', 23],
    ['1818', 24],
    ['1903e8', 1000],
    ['1a000f4240', 1000000],
    ['1b000000e8d4a51000', 1000000000000],
    ['1bffffffffffffffff', 18446744073709551615n],
    ['3b7fffffffffffffff', -9223372036854775808n],
    ['20', -1],
    ['3903e7', -1000],
    ['f4', false],
    ['f6', null],
    ['4401020304', fromHex('01020304')],
    ['62c3bc', 'ü'],
    ['64f0908591', '\u{10151}'],
    ['8301820203820405', [1, [2, 3], [4, 5]]],
    ['98190102030405060708090a0b0c0d0e0f101112131415161718181819', Array.from({ length: 25 }, (_, i) => i + 1)],
    [
      'a201020304',
      new Map([
        [1, 2],
        [3, 4],
      ]),
    ],
    ['826161a161626163', ['a', new Map([['b', 'c']])]],
  ])('writes and reads %s as RFC 8949 does', (hex, value) => {
    expect(toHex(encodeCanonical(value))).toBe(hex);
    expect(decodeCanonical(fromHex(hex))).toEqual(value);
  });

  it.each([
    ['1801', 'CBOR_NOT_CANONICAL'],
    ['190017', 'CBOR_NOT_CANONICAL'],
    ['1a0000ffff', 'CBOR_NOT_CANONICAL'],
    ['1b00000000ffffffff', 'CBOR_NOT_CANONICAL'],
    ['5801ff', 'CBOR_NOT_CANONICAL'],
    ['a2616201616101', 'CBOR_NOT_CANONICAL'],
    ['a2616101616102', 'CBOR_DUPLICATE_KEY'],
    ['9f01ff', 'CBOR_MALFORMED'],
    ['5f4101ff', 'CBOR_MALFORMED'],
    ['bf6161f5ff', 'CBOR_MALFORMED'],
    ['f93c00', 'CBOR_MALFORMED'],
    ['fb3ff0000000000000', 'CBOR_MALFORMED'],
    ['f7', 'CBOR_MALFORMED'],
    ['f820', 'CBOR_MALFORMED'],
    ['0000', 'CBOR_MALFORMED'],
    ['', 'CBOR_MALFORMED'],
    ['4201', 'CBOR_MALFORMED'],
    ['9b7fffffffffffffff00', 'CBOR_MALFORMED'],
    ['61ff', 'BYTES_UTF8'],
    ['81'.repeat(40) + '00', 'CBOR_DEPTH'],
  ])('refuses %s with %s', (hex, code) => {
    expect(() => decodeCanonical(fromHex(hex))).toThrow(code);
    if (code !== 'CBOR_NOT_CANONICAL') expect(() => decodeForeign(fromHex(hex))).toThrow(code);
  });

  it('reads foreign map orders, never long heads or duplicates', () => {
    expect(() => decodeForeign(fromHex('1801'))).toThrow('CBOR_NOT_CANONICAL');
    expect(decodeForeign(fromHex('a2616201616101'))).toEqual(
      new Map([
        ['b', 1],
        ['a', 1],
      ]),
    );
    expect(() => decodeForeign(fromHex('a201010102'))).toThrow('CBOR_DUPLICATE_KEY');
  });

  it('refuses what has no single encoding', () => {
    for (const value of [0.5, NaN, -0, 2 ** 53, 1n << 64n, -(1n << 63n) - 1n])
      expect(() => encodeCanonical(value)).toThrow('CBOR_NOT_ENCODABLE');
    expect(() => encodeCanonical(undefined as unknown as CborValue)).toThrow('CBOR_NOT_ENCODABLE');
  });

  it('copies bytes', () => {
    const input = fromHex('4401020304');
    const value = decodeCanonical(input) as Uint8Array;
    input.fill(0);
    expect(toHex(value)).toBe('01020304');
  });
});
