import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, utf8 } from '#attestation/base';
import { mappedParameters, readSafetensors, writeSafetensors } from '#libs/models';
import { exportedFile } from '#test/onnx-files';

function file(header: unknown, size: number): Uint8Array {
  const text = utf8(JSON.stringify(header));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  return concatBytes(length, text, new Uint8Array(size));
}

describe('a safetensors file', () => {
  it('of PyTorch is read, float32 and 16 bits alike', () => {
    const tensors = readSafetensors(exportedFile('torch-small.safetensors'));
    expect(tensors.map(({ name, dims }) => [name, dims]).toSorted()).toEqual([
      ['0.bias', [3]],
      ['0.weight', [3, 4]],
      ['2.bias', [2]],
      ['2.weight', [2, 3]],
    ]);
    const small = new Map(
      readSafetensors(exportedFile('torch-small-16.safetensors')).map(({ name, values }) => [name, values]),
    );
    for (const { name, values } of tensors) {
      values.forEach((value, i) => {
        const tolerance = 2 ** (name.startsWith('0') ? -8 : -11) * Math.abs(Number(value));
        expect(Math.abs(Number(small.get(name)![i]!) - Number(value))).toBeLessThanOrEqual(tolerance);
      });
    }
  });

  it('that was written is read again, exact integers too', () => {
    const real = fc.float({ noNaN: true }).map(Math.fround);
    const tensor = fc.oneof(
      fc.array(real).map((list) => Float32Array.from(list)),
      fc.bigInt64Array(),
    );
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string().filter((name) => !/^(\d+|__.*)$/.test(name)),
          tensor,
          { maxKeys: 5 },
        ),
        (named) => {
          const tensors = Object.entries(named).map(([name, values]) => ({ name, dims: [values.length], values }));
          const read = readSafetensors(writeSafetensors(tensors));
          const plain = (values: ArrayLike<number | bigint>): unknown[] => Array.from(values, String);
          const sorted = (list: readonly { name: string; values: ArrayLike<number | bigint> }[]) =>
            list.map(({ name, values }) => [name, plain(values)]).toSorted();
          expect(sorted(read)).toEqual(sorted(tensors));
        },
      ),
    );
  });

  const f32 = (from: number, to: number, shape: unknown = [(to - from) / 4]) => ({
    dtype: 'F32',
    shape,
    data_offsets: [from, to],
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['of seven bytes', new Uint8Array(7), /^SAFETENSORS_HEADER/],
    ['with a header beyond its end', file({}, 0).subarray(0, 9), /^SAFETENSORS_HEADER/],
    ['with a header of 2^60 bytes', Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 16, 0), /^SAFETENSORS_LIMIT/],
    ['with a header that is no object', file([1], 0), /^SAFETENSORS_HEADER/],
    ['with tensors that overlap', file({ a: f32(0, 8), b: f32(4, 12) }, 12), /^SAFETENSORS_OFFSETS/],
    ['with a hole', file({ a: f32(0, 8), b: f32(12, 16) }, 16), /^SAFETENSORS_OFFSETS/],
    ['with bytes that belong to none', file({ a: f32(0, 8) }, 12), /^SAFETENSORS_OFFSETS/],
    ['with a tensor beyond the end', file({ a: f32(0, 16) }, 12), /^SAFETENSORS_OFFSETS/],
    ['with too few bytes for a shape', file({ a: f32(0, 8, [3]) }, 8), /^SAFETENSORS_OFFSETS/],
    ['with negative offsets', file({ a: f32(-4, 4) }, 8), /^SAFETENSORS_HEADER/],
    [
      'with a type of eight bits',
      file({ a: { dtype: 'F8_E4M3', shape: [1], data_offsets: [0, 1] } }, 1),
      /^SAFETENSORS_TYPE/,
    ],
    [
      'with a type that is a word of objects',
      file({ a: { ...f32(0, 4), dtype: 'constructor' } }, 4),
      /^SAFETENSORS_TYPE/,
    ],
  ])('%s', (_, bytes, message) => {
    expect(() => readSafetensors(bytes)).toThrow(message);
  });
});

describe('a map', () => {
  const tensors = readSafetensors(exportedFile('torch-small.safetensors'));
  const wanted = [
    { name: 'n0.W', layer: 'n0', role: 'W', dims: [4, 3] },
    { name: 'n0.b', layer: 'n0', role: 'b', dims: [3] },
    { name: 'n2.W', layer: 'n2', role: 'W', dims: [3, 2] },
    { name: 'n2.b', layer: 'n2', role: 'b', dims: [2] },
  ] as const;
  const map = { '0.weight': 'n0.W^T', '0.bias': 'n0.b', '2.weight': 'n2.W^T', '2.bias': 'n2.b' };

  it('puts tensors where they belong and turns them', () => {
    const parameters = mappedParameters(tensors, wanted, { map });
    const weight = tensors.find(({ name }) => name === '0.weight')!.values;
    expect(parameters.map(({ name }) => name)).toEqual(['n0.W', 'n0.b', 'n2.W', 'n2.b']);
    for (let i = 0; i < 4; i++)
      for (let o = 0; o < 3; o++) expect(parameters[0]!.values[i * 3 + o]).toBe(weight[o * 4 + i]);
  });

  it('turns kernels [out, in, k0, k1] into rows (k0, k1, in)', () => {
    const kernel = { name: 'k', dims: [2, 3, 2, 2], values: Float64Array.from({ length: 24 }, (_, i) => i) };
    const [parameter] = mappedParameters([kernel], [{ name: 'n0.W', layer: 'n0', role: 'W', dims: [12, 2] }], {
      map: { k: 'n0.W^T' },
    });
    expect(Array.from(parameter!.values.subarray(0, 8))).toEqual([0, 12, 4, 16, 8, 20, 1, 13]);
  });

  it.each<[string, unknown, RegExp]>([
    ['is no object', 'n0.W', /^SAFETENSORS_MAP/],
    ['has another member', { map, other: 1 }, /^SAFETENSORS_MAP/],
    ['names a parameter that is not there', { map: { ...map, '0.bias': 'n9.b' } }, /^SAFETENSORS_MAP.*n9\.b/],
    ['names one twice', { map: { ...map, '2.bias': 'n0.b' } }, /^SAFETENSORS_MAP.*once/],
    ['leaves one out', { map: { '0.weight': 'n0.W^T' } }, /^SAFETENSORS_MISSING.*n0\.b, n2\.W, n2\.b/],
    [
      'forgets to turn',
      { map: { ...map, '0.weight': 'n0.W' } },
      /^SAFETENSORS_SHAPE.*\[4,3\] for n0\.W, got "0\.weight" \[3,4\]/,
    ],
    ['turns a vector', { map: { ...map, '0.bias': 'n0.b^T' } }, /^SAFETENSORS_SHAPE/],
    ['has no word at all', { map: { ...map, '0.bias': 7 } }, /^SAFETENSORS_MAP/],
  ])('that %s', (_, given, message) => {
    expect(() => mappedParameters(tensors, wanted, given)).toThrow(message);
  });

  it('is not needed for tensors that have the names of the parameters', () => {
    const named = wanted.map(({ name, dims }) => ({
      name,
      dims,
      values: new Float64Array(dims.reduce<number>((x, y) => x * y, 1)),
    }));
    expect(mappedParameters(named, wanted, undefined)).toHaveLength(4);
    expect(() => mappedParameters(tensors, wanted, undefined)).toThrow(/^SAFETENSORS_MISSING/);
  });
});
