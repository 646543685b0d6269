import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { afterAll, describe, expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { parseIdxImages, shuffledIndices } from '#libs/step';
import { encodeWith, importData, look, openSource, type Choices, type ImportedData } from './index.js';
import { resize } from './images/resize.js';

const folder = mkdtempSync(join(tmpdir(), 'data-formats-'));
afterAll(() => rmSync(folder, { recursive: true }));
const seed = `0x${'5a'.repeat(32)}`;
let made = 0;

function put(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  return path;
}

type Options = Parameters<typeof openSource>[1];

async function rowsOf(path: string, options?: Options): Promise<unknown[][]> {
  const source = await openSource(path, options);
  const rows: unknown[][] = [];
  for await (const batch of source.rows()) {
    expect(batch.first).toBe(rows.length + 1);
    rows.push(...batch.rows.map((row) => row.map((cell) => (ArrayBuffer.isView(cell) ? [...cell] : cell))));
    expect(batch.next.row).toBe(rows.length);
  }
  const again: unknown[] = [];
  for await (const batch of source.rows({ row: 1, byte: 0 })) again.push(...batch.rows);
  // Sources that go by the byte begin where a batch ended; those that go by the row can begin at any.
  if (!['csv', 'jsonl'].includes(source.kind)) expect(again).toHaveLength(rows.length - 1);
  return rows;
}

async function imported(path: string, choices: Choices = {}, options?: Options, validation = 0): Promise<ImportedData> {
  const work = join(folder, `w${made++}`);
  return importData({ source: await openSource(path, options), validation, seed, choices, folder: work });
}

async function recordsOf({ train }: ImportedData): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const { bytes } of train.records()) parts.push(Buffer.from(bytes));
  return Buffer.concat(parts);
}

const failure = async (act: () => Promise<unknown>): Promise<Record<string, unknown>> => {
  try {
    await act();
  } catch (error) {
    if (error instanceof CodedError) return error.toJSON();
    throw error;
  }
  throw new Error('nothing was refused');
};

/** Written by numpy 2.4 (`save`, `savez`, `savez_compressed`). */
const numpy = {
  half: 'k05VTVBZAQB2AHsnZGVzY3InOiAnPGYyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDQsIDIpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAPgDAADQAfgBCAEQAvAA4',
  labels:
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPGk4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDQsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoHAAAAAAAAAP//////////BwAAAAAAAAACAAAAAAAAAA==',
  deflated:
    'UEsDBC0AAAAIAAAAIQAkj088//////////8FABQAeC5ucHkBABAAoAAAAAAAAABfAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GiY6CkaaOgq1CmQDLgaGA/YMQIKBocEOSNUzMDg4ANkgvB8obg8AUEsDBC0AAAAIAAAAIQBUOI3y//////////8FABQAeS5ucHkBABAAoAAAAAAAAABPAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TaaGuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GiY6mjoKtQoUAC52Bgj4DwUwPhOUBgBQSwECLQMtAAAACAAAACEAJI9PPF8AAACgAAAABQAAAAAAAAAAAAAAgAEAAAAAeC5ucHlQSwECLQMtAAAACAAAACEAVDiN8k8AAACgAAAABQAAAAAAAAAAAAAAgAGWAAAAeS5ucHlQSwUGAAAAAAIAAgBmAAAAHAEAAAAA',
  stored:
    'UEsDBC0AAAAAAAAAIQBErVeC//////////8FABQAeC5ucHkBABAAmAAAAAAAAACYAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJ3x1MScsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAzLCA0KSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAAECAwQFBgcICQoLDA0ODxAREhMUFRYXUEsDBC0AAAAAAAAAIQBOY2ux//////////8FABQAeS5ucHkBABAAggAAAAAAAACCAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJ3x1MScsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAQBQSwECLQMtAAAAAAAAACEARK1XgpgAAACYAAAABQAAAAAAAAAAAAAAgAEAAAAAeC5ucHlQSwECLQMtAAAAAAAAACEATmNrsYIAAACCAAAABQAAAAAAAAAAAAAAgAHPAAAAeS5ucHlQSwUGAAAAAAIAAgBmAAAAiAEAAAAA',
  fortran:
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPGYyJywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoNCwgMiksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAPgA0AEIAvADAAH4ARAA4',
};
const saved = (name: keyof typeof numpy, as: string): string => put(as, Buffer.from(numpy[name], 'base64'));

describe('NumPy', () => {
  const half = [
    [1.5, -2, 7],
    [0.25, NaN, -1],
    [3, 4, 7],
    [-1, 0.5, 2],
  ];

  it('reads an array of halves and an array of labels', async () => {
    expect(await rowsOf(saved('half', 'x.npy'), { labels: saved('labels', 'y.npy') })).toEqual(half);
  });

  it('reads packed and stored archives', async () => {
    expect(await rowsOf(saved('deflated', 'd.npz'))).toEqual(half);
    const pixels = (from: number): number[] => Array.from({ length: 12 }, (_, i) => from + i);
    expect(await rowsOf(saved('stored', 's.npz'))).toEqual([
      [pixels(0), 1],
      [pixels(12), 0],
    ]);
  });

  it('reads the arrays of an archive that are named, under other names', async () => {
    const path = saved('stored', 'named.npz');
    const source = await openSource(path, { arrays: { label: 'y', pixels: 'x' } });
    expect(source.columns.map(({ name }) => name)).toEqual(['label', 'pixels']);
    expect((await rowsOf(path, { arrays: { label: 'y' } })).flat()).toEqual([1, 0]);
    expect(source.fingerprint).not.toBe((await openSource(path)).fingerprint);
    expect(await failure(() => rowsOf(path, { arrays: { z: 'z' } }))).toMatchObject({
      ...{ code: 'DATA_COLUMN_MISSING', expected: 'one of the arrays x, y of named.npz', got: 'z' },
    });
  });

  it('refuses an archive whose bytes are others than were saved', async () => {
    for (let bit = 0; bit < 8; bit++) {
      const bytes = Buffer.from(numpy.stored, 'base64');
      bytes[bytes.indexOf('PK', 30) - 1]! ^= 1 << bit;
      const refused = await failure(() => rowsOf(put('flipped.npz', bytes)));
      expect(refused).toMatchObject({ code: 'DATA_ZIP', column: 'x.npy' });
    }
  });

  it('makes records of pixels and classes', async () => {
    const data = await imported(saved('stored', 's2.npz'));
    expect(data.header.features).toEqual({ dtype: 'uint8', shape: [3, 4], frac: 8 });
    const first = shuffledIndices(seed, 2)[0]!;
    expect([...(await recordsOf(data)).subarray(0, 13)]).toEqual([
      ...Array.from({ length: 12 }, (_, i) => first * 12 + i),
      1 - first,
    ]);
  });

  it.each([
    ['DATA_NPY', () => saved('fortran', 'f.npy')],
    ['DATA_NPY', () => put('n.npy', 'nothing of the kind')],
    ['DATA_TRUNCATED', () => put('t.npy', Buffer.from(numpy.half, 'base64').subarray(0, -1))],
    ['DATA_ZIP', () => put('z.npz', Buffer.from(numpy.stored, 'base64').subarray(0, -30))],
    ['DATA_SHAPE', () => saved('half', 'a.npy')],
  ])('refuses with %s', async (code, make) => {
    const path = make();
    const options = code === 'DATA_SHAPE' ? { labels: put('b.npy', Buffer.concat([oneOf3()])) } : {};
    expect(await failure(() => rowsOf(path, options))).toMatchObject({ code });
  });

  it('says how to save an array that it does not take', async () => {
    expect(await failure(() => rowsOf(saved('fortran', 'f.npy')))).toMatchObject({
      action: 'save numpy.ascontiguousarray(array)',
    });
    expect(await failure(() => rowsOf(put('big.npy', oneOf3('>f4'))))).toMatchObject({
      got: '>f4',
      action: 'save array.astype("<f4")',
    });
    for (const type of ['<U5', '|S3', '|O']) {
      expect(await failure(() => rowsOf(put('texts.npy', oneOf3(type))))).toMatchObject({
        got: type,
        action: expect.stringMatching(/^save integers in its place .*CSV$/) as unknown,
      });
    }
  });

  it('names the array of an archive that it does not take', async () => {
    const bytes = Buffer.from(numpy.stored, 'base64');
    const entry = bytes.lastIndexOf('PK\x01\x02');
    bytes.write("'|S1'", bytes.lastIndexOf("'|u1'", entry));
    const array = bytes.subarray(bytes.lastIndexOf('\x93NUMPY', entry, 'latin1'), bytes.indexOf('PK\x01\x02'));
    bytes.writeUInt32LE(crc32(array), entry + 16);
    expect(await failure(() => rowsOf(put('texts.npz', bytes)))).toMatchObject({ code: 'DATA_NPY', column: 'y' });
  });

  /** An array of 3 bytes, by hand. */
  function oneOf3(type = '|u1'): Buffer {
    const head = `{'descr': '${type}', 'fortran_order': False, 'shape': (3,), }\n`;
    return Buffer.concat([
      Buffer.from('\x93NUMPY\x01\0', 'latin1'),
      Buffer.of(head.length, 0),
      Buffer.from(head),
      Buffer.of(1, 2, 3),
    ]);
  }
});

describe('IDX', () => {
  const images = Buffer.concat([
    Buffer.from([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2]),
    Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]),
  ]);
  const labels = Buffer.from([0, 0, 8, 1, 0, 0, 0, 2, 9, 0]);

  it('reads pictures, and labels beside them, as libs/step does', async () => {
    const path = put('t-images-idx3-ubyte', images);
    put('t-labels-idx1-ubyte', labels);
    expect(await rowsOf(path)).toEqual([
      [[1, 2, 3, 4], 9],
      [[5, 6, 7, 8], 0],
    ]);
    const alone = put('alone-images-idx3-ubyte', images);
    expect(await rowsOf(alone, { hasLabels: false })).toEqual([[[1, 2, 3, 4]], [[5, 6, 7, 8]]]);
    expect([...parseIdxImages(images).data]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect((await imported(path)).header).toMatchObject({
      features: { dtype: 'uint8', shape: [2, 2, 1], frac: 8 },
      label: { kind: 'class', classes: 2, columns: [{ values: ['0', '9'] }] },
    });
  });

  it('refuses packed, cut and lonely files', async () => {
    const y = put('labels', labels);
    expect(await failure(() => rowsOf(put('gz.idx', Buffer.from([31, 139, 8, 0])), { labels: y }))).toMatchObject({
      code: 'DATA_IDX',
    });
    expect(await failure(() => rowsOf(put('cut.idx', images.subarray(0, -1)), { labels: y }))).toMatchObject({
      code: 'DATA_TRUNCATED',
    });
    expect(await failure(() => rowsOf(put('alone.idx', images)))).toMatchObject({ code: 'DATA_FILE' });
  });
});

function png(width: number, height: number, pixel: (x: number, y: number) => readonly number[], grey = false): Buffer {
  const image = new PNG({ width, height, ...(grey && { colorType: 0 as const, inputHasAlpha: true }) });
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) image.data.set([...pixel(x, y), 255].slice(0, 4), 4 * (y * width + x));
  }
  return PNG.sync.write(image, grey ? { colorType: 0 } : {});
}

describe('pictures', () => {
  const red = (x: number, y: number): readonly number[] => [200 + x, 10 * y, 3];
  const grey = (x: number): readonly number[] => [x, x, x];

  it('come from a folder for each class, sorted, and other files are named', async () => {
    put('pets/dog/b.png', png(3, 2, red));
    put('pets/cat/a.PNG', png(3, 2, grey));
    put('pets/cat/notes.md', 'no picture');
    const data = await imported(join(folder, 'pets'));
    expect(data.header).toMatchObject({
      features: { dtype: 'uint8', shape: [2, 3, 3], frac: 8 },
      label: { classes: 2, columns: [{ name: 'label', values: ['cat', 'dog'] }] },
      columns: [{ name: 'image', kind: 'image', fit: 'exact' }],
    });
    expect(data.report.notes.join()).toContain('cat/notes.md');
    const rows = await rowsOf(join(folder, 'pets'));
    expect(rows[1]).toEqual([[200, 0, 3, 201, 0, 3, 202, 0, 3, 200, 10, 3, 201, 10, 3, 202, 10, 3], 'dog']);
  });

  it('come by a table of names and labels, grey by their weights', async () => {
    put('flat/1.png', png(2, 1, grey, true));
    put('flat/2.png', png(2, 1, red));
    const wrong = put('wrong.csv', 'label,file\nno,1.png\nyes,3.png\n');
    expect(await failure(() => rowsOf(join(folder, 'flat'), { labels: wrong }))).toMatchObject({
      ...{ code: 'DATA_PATH', row: 2, action: 'mend row 2 of wrong.csv, which names it, or add the picture' },
    });
    const labels = put('flat.csv', 'label,file\nno,1.png\nyes,2.png\n');
    expect(await rowsOf(join(folder, 'flat'), { labels })).toEqual([
      [[0, 1], 'no'],
      [[200, 201].map((r) => Math.floor((299 * r + 114 * 3 + 500) / 1000)), 'yes'],
    ]);
  });

  it('are resized when asked, and refused with both sizes when not', async () => {
    put(
      'mixed/a/1.png',
      png(4, 4, () => [8, 16, 24]),
    );
    put(
      'mixed/a/2.png',
      png(2, 6, () => [80, 160, 240]),
    );
    expect(await failure(() => rowsOf(join(folder, 'mixed')))).toMatchObject({
      ...{ code: 'DATA_IMAGE_SIZE', got: '6×2', row: 2, file: 'mixed/a/2.png' },
      expected: expect.stringContaining('4×4'),
    });
    expect(await rowsOf(join(folder, 'mixed'), { size: [1, 2] })).toEqual([
      [[8, 16, 24, 8, 16, 24], 'a'],
      [[80, 160, 240, 80, 160, 240], 'a'],
    ]);
  });

  it('are resized by weights that sum to one', () => {
    expect([...resize(Uint8Array.of(0, 100, 200, 255), [1, 4], [1, 2], 1)]).toEqual([71, 209]);
    expect([...resize(Uint8Array.of(10, 20), [1, 2], [1, 4], 1)]).toEqual([10, 13, 18, 20]);
    const flat = new Uint8Array(7 * 5).fill(93);
    expect(new Set(resize(flat, [7, 5], [3, 11], 1))).toEqual(new Set([93]));
  });

  it('may be JPEG', async () => {
    const data = Buffer.alloc(4 * 64, 0).map((_, i) => [120, 60, 200, 255][i % 4]!);
    put('photos/x/a.jpg', jpeg.encode({ width: 8, height: 8, data }, 95).data);
    const [[pixels]] = (await rowsOf(join(folder, 'photos'))) as [[number[]]];
    expect(pixels).toHaveLength(192);
    pixels.forEach((value, i) => expect(Math.abs(value - [120, 60, 200][i % 3]!)).toBeLessThan(4));
  });

  it('says how many no row names, are in colour beside grey ones, or transparent, each once', async () => {
    put('some/1.png', png(2, 1, grey, true));
    put('some/2.png', png(2, 1, red));
    put('some/3.png', png(2, 1, red));
    put('some/4/5.png', png(2, 1, red));
    const source = await openSource(join(folder, 'some'), {
      labels: put('some.csv', 'file,label\n1.png,a\n./2.png,b\n'),
    });
    for (let times = 0; times < 2; times++) for await (const { rows } of source.rows()) expect(rows).toHaveLength(2);
    expect(source.notes()).toEqual([
      '2 pictures of the folder stand in no row of the table of labels',
      '1 pictures in colour were read as grey, which the first one is',
    ]);
  });

  it('says how many have more bits than a record keeps', async () => {
    const deep = new PNG({ width: 1, height: 1 });
    deep.data.fill(255);
    put('deep/a/1.png', PNG.sync.write(deep, { colorType: 0, bitDepth: 16 }));
    put('deep/b/2.png', PNG.sync.write(deep, { colorType: 0, bitDepth: 8 }));
    const { notes } = await look(await openSource(join(folder, 'deep')));
    expect(notes).toEqual(['1 pictures of 16 bits a sample were read as the nearest of 8 bits']);
  });

  it.each([
    ['../out.png', 'DATA_PATH'],
    ['link.png', 'DATA_PATH'],
    ['in/../../out.png', 'DATA_PATH'],
    ['missing.png', 'DATA_PATH'],
    ['/etc/hostname', 'DATA_PATH'],
    ['broken.png', 'DATA_IMAGE'],
  ])('never lead out of the folder, and are whole: %s', async (name, code) => {
    const out = put('out.png', png(1, 1, grey));
    put('kept/in/x.png', png(1, 1, grey));
    put('kept/broken.png', png(9, 9, grey).subarray(0, 60));
    rmSync(join(folder, 'kept/link.png'), { force: true });
    symlinkSync(out, join(folder, 'kept/link.png'));
    const labels = put('kept.csv', `file,label\nin/x.png,a\n${name},b\n`);
    expect(await failure(() => rowsOf(join(folder, 'kept'), { labels }))).toMatchObject({ code, row: 2 });
  });

  it('are not decoded when they say they are huge', async () => {
    const bytes = png(1, 1, grey);
    bytes.writeUInt32BE(65_000, 16);
    bytes.writeUInt32BE(65_000, 20);
    put('huge/a/x.png', bytes);
    expect(await failure(() => rowsOf(join(folder, 'huge')))).toMatchObject({ code: 'DATA_LIMIT' });
  });
});

describe('JSON lines', () => {
  it('are a table', async () => {
    const path = put('a.jsonl', '{"x":1.5,"color":"red"}\n\n{"color":"blue","x":null}\r\n{"x":-2,"color":"red"}');
    expect(await rowsOf(path)).toEqual([
      [1.5, 'red'],
      [null, 'blue'],
      [-2, 'red'],
    ]);
    const seen = await look(await openSource(path));
    expect(seen).toMatchObject({ rows: 3, notes: ['1 blank lines were passed over'] });
    expect(seen.columns.map(({ guess, missing }) => [guess, missing])).toEqual([
      ['number', 1],
      ['category', 0],
    ]);
  });

  it.each([
    ['DATA_JSON', '{"x":1}\n{"x":\n', 2],
    ['DATA_JSON', '[1]\n', 1],
    ['DATA_COLUMN_UNKNOWN', `{"x":1}\n${'{"x":2}\n'.repeat(20_000)}{"y":2}\n`, 20_002],
    ['DATA_EMPTY', '\n', undefined],
  ])('are refused with %s', async (code, text, row) => {
    expect(await failure(() => rowsOf(put('bad.jsonl', text)))).toMatchObject({
      code,
      ...(row !== undefined && { row }),
    });
  });
});

describe('Parquet', () => {
  const n = 5_000;
  const price = Array.from({ length: n }, (_, i) => i * 0.5);
  const size = Array.from({ length: n }, (_, i) => (i % 9 === 4 ? null : BigInt(i - 2000)));
  const color = Array.from({ length: n }, (_, i) => ['red', 'blue', 'green'][i % 3]!);
  const isNew = Array.from({ length: n }, (_, i) => i % 2 === 0);
  const columnData = [
    { name: 'price', data: price, type: 'DOUBLE' as const },
    { name: 'size', data: size, type: 'INT64' as const },
    { name: 'color', data: color, type: 'STRING' as const },
    { name: 'isNew', data: isNew, type: 'BOOLEAN' as const },
  ];

  it('is read over its row groups', async () => {
    const path = put('t.parquet', new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 1_500 })));
    const rows = await rowsOf(path);
    expect(rows).toEqual(
      price.map((_, i) => [price[i], size[i] === null ? null : Number(size[i]), color[i], String(isNew[i])]),
    );
    const data = await imported(path, { label: ['color'] }, {}, 1_000);
    expect(data.report).toMatchObject({ rows: n, validation: 1_000 });
    expect(data.header.columns.map(({ name }) => name)).toEqual(['price', 'size', 'size?', 'isNew']);
  });

  it('is refused where a number does not fit, a column is nested, or bytes are missing', async () => {
    const big = put(
      'big.parquet',
      new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'x', data: [1n, 2n ** 53n + 1n], type: 'INT64' }] })),
    );
    expect(await failure(() => rowsOf(big))).toMatchObject({
      ...{ code: 'DATA_CELL', row: 2, column: 'x' },
      ...{ expected: expect.stringContaining('up to 2^53'), action: expect.stringContaining('--drop x') },
    });
    const whole = Buffer.from(parquetWriteBuffer({ columnData }));
    expect(await failure(() => rowsOf(put('cut.parquet', whole.subarray(0, -8))))).toMatchObject({
      code: 'DATA_PARQUET',
    });
  });
});

describe('text', () => {
  it('is cut into windows of characters, each record one token longer than its features', async () => {
    const text = 'to be, or not to be\nthat is ☕';
    const source = await openSource(put('a.txt', text), { tokens: 5 });
    const characters = [...new Set(text)].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
    const ids = Array.from(text, (character) => characters.indexOf(character) + 2);
    const rows = await rowsOf(join(folder, 'a.txt'), { tokens: 5 });
    expect(rows.map(([window]) => window)).toEqual([0, 5, 10, 15, 20].map((at) => ids.slice(at, at + 6)));
    const data = await importData({ source, validation: 1, seed, folder: join(folder, `w${made++}`) });
    expect(data.header).toMatchObject({
      features: { dtype: 'tokens', shape: [5], vocab: characters.length + 2 },
      label: { kind: 'tokens' },
      columns: [{ name: 'text', kind: 'text' }],
      tokenizer: {
        name: 'characters',
        sha256: `0x${createHash('sha256').update(source.tokenizer!.bytes).digest('hex')}`,
      },
    });
    expect(data.report.notes).toEqual(['a.txt: 3 tokens at the end fill no record']);
    const order = [...shuffledIndices(seed, 5)];
    const records = await recordsOf(data);
    expect(Array.from({ length: 24 }, (_, i) => records.readUInt16LE(2 * i))).toEqual(
      order.slice(1).flatMap((row) => ids.slice(5 * row, 5 * row + 6)),
    );
    expect(source.tokenizer!.decode(ids)).toBe(text);
    const other = await openSource(put('b.txt', 'another text altogether'), { tokens: 5 });
    expect(() => encodeWith(data.header, other, 'records')).toThrow(
      expect.objectContaining({ code: 'DATA_TOKENIZER' }),
    );
    const detail = { got: 'none: it is read as csv', action: expect.stringContaining('give a text') as unknown };
    const table = await openSource(put('c.csv', 'a,b\n1,2\n'));
    expect(() => encodeWith(data.header, table, 'records')).toThrow(
      expect.objectContaining({ code: 'DATA_TOKENIZER', detail: expect.objectContaining(detail) as unknown }),
    );
  });

  it('comes as documents, joined by the end-of-text id of a tokenizer file', async () => {
    const tokenizer = put(
      'tokenizer.json',
      JSON.stringify({
        version: '1.0',
        added_tokens: [
          {
            id: 5,
            content: '<|endoftext|>',
            special: true,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
          },
        ],
        normalizer: null,
        pre_tokenizer: { type: 'Whitespace' },
        post_processor: null,
        decoder: null,
        model: {
          type: 'WordPiece',
          continuing_subword_prefix: '##',
          max_input_chars_per_word: 100,
          vocab: { a: 0, b: 1, c: 2, d: 3, '[UNK]': 4, '<|endoftext|>': 5 },
          unk_token: '[UNK]',
        },
      }),
    );
    const path = put('docs.jsonl', '{"body":"a b"}\n{"body":"c x d"}\n{"body":"a"}\n');
    const rows = await rowsOf(path, { tokens: 2, tokenizer, textField: 'body' });
    expect(rows.map(([window]) => window)).toEqual([
      [0, 1, 5],
      [5, 2, 4],
      [4, 3, 5],
      [5, 0, 5],
    ]);
    expect(await failure(() => rowsOf(path, { tokenizer, textField: 'title' }))).toMatchObject({
      code: 'DATA_CELL',
      row: 1,
      action: 'mend the line, or name the member that holds the text (--text-field body)',
    });
    expect(await failure(() => rowsOf(path, { tokenizer: `${path}.none`, textField: 'body' }))).toMatchObject({
      ...{ code: 'DATA_FILE', expected: expect.stringContaining('docs.jsonl.none'), got: 'nothing there' },
    });
    const none = put('none.json', '{"model":{}}');
    expect(await failure(() => rowsOf(path, { tokenizer: none, textField: 'body' }))).toMatchObject({
      code: 'DATA_TOKENIZER',
    });
  });
});
