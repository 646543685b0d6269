import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodedError, fromUtf8, keccak, concatBytes, utf8 } from '#attestation/base';
import { canonicalHeader, layoutDigest, parseDataHeader, parseHeaderText, recordLayout } from '../index.js';

const good = {
  layout: 2,
  features: { dtype: 'int16', shape: [4], frac: 12 },
  label: {
    kind: 'real',
    count: 1,
    frac: 12,
    columns: [{ name: 'price', kind: 'number', center: 22.5, scale: 9.2 }],
  },
  columns: [
    { name: 'rooms', kind: 'number', center: 6.2741, scale: 0.7076 },
    { name: 'rooms?', kind: 'missing' },
    { name: 'color', kind: 'category', values: ['red', 'blue'] },
  ],
  split: { train: 405, validation: 101 },
  tokenizer: null,
};
const classes = { kind: 'class', classes: 2, columns: [] };
const image = {
  ...good,
  features: { dtype: 'uint8', shape: [28, 28, 1], frac: 8 },
  label: { kind: 'class', classes: 2, columns: [{ name: 'label', kind: 'category', values: ['cat', 'dog'] }] },
  columns: [{ name: 'image', kind: 'image', fit: 'exact' }],
};
const text = {
  ...good,
  features: { dtype: 'tokens', shape: [64], vocab: 65_537 },
  label: { kind: 'tokens' },
  columns: [{ name: 'text', kind: 'text' }],
  split: 'given',
  tokenizer: { name: 'characters', sha256: `0x${'ab'.repeat(32)}` },
};

const codeOf = (json: unknown): string => {
  try {
    parseDataHeader(json);
    return 'parsed';
  } catch (error) {
    return error instanceof CodedError ? error.code : String(error);
  }
};

describe('data header, libs/step/DATA.md §2', () => {
  it.each([['table', good] as const, ['image', image] as const, ['text', text] as const])(
    'reads a %s and gives the same canonical bytes whatever the order of members',
    (_name, json) => {
      const header = parseDataHeader(json);
      expect(header).toEqual(json);
      const reversed = Object.fromEntries(Object.entries(json).reverse());
      expect(canonicalHeader(parseDataHeader(reversed))).toEqual(canonicalHeader(header));
      expect(parseHeaderText(canonicalHeader(header))).toEqual(header);
    },
  );

  it('writes the canonical bytes of the page and binds them under a tag of its own', () => {
    const bytes = canonicalHeader(parseDataHeader(good));
    expect(fromUtf8(bytes)).toBe(
      '{"columns":[{"center":6.2741,"kind":"number","name":"rooms","scale":0.7076},{"kind":"missing","name":"rooms?"},' +
        '{"kind":"category","name":"color","values":["red","blue"]}],' +
        '"features":{"dtype":"int16","frac":12,"shape":[4]},' +
        '"label":{"columns":[{"center":22.5,"kind":"number","name":"price","scale":9.2}],"count":1,"frac":12,"kind":"real"},' +
        '"layout":2,"split":{"train":405,"validation":101},"tokenizer":null}',
    );
    expect(layoutDigest(parseDataHeader(good))).toEqual(
      keccak(concatBytes(keccak(utf8('veritrain/layout/v2')), bytes)),
    );
  });

  it('keeps every finite center and scale above 0 to the last bit', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.double({ noNaN: true, noDefaultInfinity: true, min: Number.MIN_VALUE }),
        (center, scale) => {
          const column = { name: 'x', kind: 'number', center: center === 0 ? 0 : center, scale };
          const json = { ...good, features: { ...good.features, shape: [1] }, columns: [column] };
          expect(parseHeaderText(canonicalHeader(parseDataHeader(json))).columns).toEqual([column]);
        },
      ),
    );
  });

  it.each([
    [good, { features: 4, featureSize: 2, featureBytes: 8, labelBytes: 4, recordBytes: 12 }],
    [image, { features: 784, featureSize: 1, featureBytes: 784, labelBytes: 1, recordBytes: 785 }],
    [
      { ...image, label: { ...classes, classes: 257 } },
      { features: 784, featureSize: 1, featureBytes: 784, labelBytes: 2, recordBytes: 786 },
    ],
    [text, { features: 64, featureSize: 4, featureBytes: 256, labelBytes: 4, recordBytes: 260 }],
    [
      { ...text, features: { ...text.features, vocab: 65_536 } },
      { features: 64, featureSize: 2, featureBytes: 128, labelBytes: 2, recordBytes: 130 },
    ],
    [
      { ...good, features: { dtype: 'int32', shape: [4], frac: 0 }, label: { kind: 'vector', count: 3, columns: [] } },
      { features: 4, featureSize: 4, featureBytes: 16, labelBytes: 3, recordBytes: 19 },
    ],
  ])('knows the bytes of a record', (json, layout) => {
    expect(recordLayout(parseDataHeader(json))).toEqual(layout);
  });

  it.each([
    ['HEADER_TYPE', null],
    ['HEADER_TYPE', []],
    ['HEADER_LAYOUT', { ...good, layout: 1 }],
    ['HEADER_UNKNOWN_FIELD', { ...good, extra: 1 }],
    ['HEADER_MISSING_FIELD', { ...good, tokenizer: undefined }],
    ['HEADER_KIND', { ...good, features: { dtype: 'float32', shape: [4], frac: 12 } }],
    ['HEADER_RANGE', { ...good, features: { ...good.features, shape: [2 ** 11, 2 ** 11] } }],
    ['HEADER_LENGTH', { ...good, features: { ...good.features, shape: [] } }],
    ['HEADER_RANGE', { ...good, features: { ...good.features, frac: 31 } }],
    ['HEADER_WIDTH', { ...good, features: { ...good.features, shape: [5] } }],
    ['HEADER_MISSING', { ...good, columns: [good.columns[0], { name: 'other?', kind: 'missing' }, good.columns[2]] }],
    ['HEADER_MISSING', { ...good, columns: [good.columns[1], good.columns[0], good.columns[2]] }],
    ['HEADER_TWICE', { ...good, columns: [good.columns[2], good.columns[2]] }],
    ['HEADER_TWICE', { ...good, columns: [{ name: 'c', kind: 'category', values: ['a', 'a', 'b', 'd'] }] }],
    ['HEADER_NAME', { ...good, columns: [{ name: 'c', kind: 'category', values: ['a', 'b', '\ud800', 'd'] }] }],
    ['HEADER_NAME', { ...good, columns: [{ name: '', kind: 'integer', count: 4 }] }],
    ['HEADER_RANGE', { ...good, columns: [{ name: 'x', kind: 'integer', count: 1 }] }],
    ['HEADER_RANGE', { ...good, columns: [{ name: 'x', kind: 'number', center: 0, scale: 0, count: 4 }] }],
    ['HEADER_TYPE', { ...good, columns: [{ name: 'x', kind: 'number', center: '0', scale: 1, count: 4 }] }],
    ['HEADER_FIT', { ...image, columns: [{ name: 'image', kind: 'image', fit: 'crop' }] }],
    ['HEADER_KIND', { ...good, columns: [{ name: 'x', kind: 'toString' }] }],
    ['HEADER_KIND', { ...image, columns: [image.columns[0], { name: 'x', kind: 'integer' }] }],
    ['HEADER_KIND', { ...good, label: { ...good.label, columns: [good.columns[2]] } }],
    ['HEADER_WIDTH', { ...image, label: { ...image.label, classes: 3 } }],
    ['HEADER_KIND', { ...good, label: { kind: 'ranking' } }],
    ['HEADER_TOKENS', { ...good, label: { kind: 'tokens' } }],
    ['HEADER_TOKENS', { ...good, columns: text.columns }],
    ['HEADER_TOKENS', { ...text, columns: [{ name: 'x', kind: 'integer', count: 64 }] }],
    ['HEADER_TOKENS', { ...good, tokenizer: text.tokenizer }],
    ['HEADER_DIGEST', { ...text, tokenizer: { name: 'x', sha256: '0xAB' } }],
    ['HEADER_SPLIT', { ...good, split: 'none' }],
    ['HEADER_RANGE', { ...good, split: { train: 0, validation: 1 } }],
  ])('refuses with %s', (code, json) => {
    expect(codeOf(json)).toBe(code);
  });

  it('refuses text that is too long or no JSON', () => {
    expect(() => parseHeaderText(utf8('{'))).toThrow(expect.objectContaining({ code: 'HEADER_JSON' }));
    const long = new Uint8Array(4 * 1024 * 1024 + 1).fill(0x20);
    expect(() => parseHeaderText(long)).toThrow(expect.objectContaining({ code: 'HEADER_OVERSIZE' }));
  });

  it('answers any JSON with a header or a coded error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...Object.keys(good)), (value, member) => {
        expect(codeOf({ ...good, [member]: value })).toMatch(/^(HEADER_[A-Z_]+|parsed)$/);
      }),
    );
  });
});
