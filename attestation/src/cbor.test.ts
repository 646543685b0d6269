import { Decoder, Encoder } from 'cbor-x';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from './bytes.js';
import { decodeCanonical, decodeForeign, encodeCanonical, type CborValue } from './cbor.js';

const scalar: fc.Arbitrary<CborValue> = fc.oneof(
  fc.maxSafeInteger(),
  fc
    .bigInt({ min: -(1n << 64n), max: (1n << 64n) - 1n })
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

  it('means to another decoder what it means here', () => {
    const other = new Decoder({ useRecords: false, mapsAsObjects: false });
    fc.assert(
      fc.property(anyValue, (value) => {
        const theirs = other.decode(encodeCanonical(value)) as CborValue;
        expect(toHex(encodeCanonical(normal(theirs)))).toBe(toHex(encodeCanonical(value)));
      }),
      { seed: 2, numRuns: 300 },
    );
    const encoder = new Encoder({
      useRecords: false,
      variableMapSize: true,
      mapsAsObjects: false,
      tagUint8Array: false,
    });
    expect(toHex(encodeCanonical([1, 'a', new Uint8Array([7]), true]))).toBe(
      toHex(new Uint8Array(encoder.encode([1, 'a', new Uint8Array([7]), true]))),
    );
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

  it('reads foreign head lengths and map orders, never duplicates', () => {
    expect(decodeForeign(fromHex('1801'))).toBe(1);
    expect(decodeForeign(fromHex('a2616201616101'))).toEqual(
      new Map([
        ['b', 1],
        ['a', 1],
      ]),
    );
    expect(() => decodeForeign(fromHex('a201011801 02'.replace(' ', '')))).toThrow('CBOR_DUPLICATE_KEY');
  });

  it('refuses what has no single encoding', () => {
    for (const value of [0.5, NaN, -0, 2 ** 53, 1n << 64n])
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

/** cbor-x gives bigint and Buffer where this project has number and Uint8Array. */
function normal(value: unknown): CborValue {
  if (typeof value === 'bigint')
    return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (Array.isArray(value)) return value.map(normal);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [normal(key), normal(item)]));
  return value as CborValue;
}
