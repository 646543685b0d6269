import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { CodedError } from '#attestation/base';
import { canonicalHeader, shuffledIndices, type DataHeader } from '#libs/step';
import {
  encodeWith,
  importData,
  type Encoding,
  look,
  openSource,
  type Choices,
  type ImportedData,
  type RecordSet,
} from './index.js';
import type { RowBatch } from './source.js';

const folder = mkdtempSync(join(tmpdir(), 'data-'));
afterAll(() => rmSync(folder, { recursive: true }));
const seed = `0x${'5a'.repeat(32)}`;
let made = 0;

function file(text: string, ending = 'csv'): string {
  const path = join(folder, `f${made++}.${ending}`);
  writeFileSync(path, text);
  return path;
}

async function imported(
  text: string,
  choices: Choices = {},
  validation = 0,
  options = {},
  work = join(folder, `w${made++}`),
): Promise<ImportedData> {
  return importData({ source: await openSource(file(text), options), validation, seed, choices, folder: work });
}

async function bytesOf(set: RecordSet | null, from = 0): Promise<Buffer> {
  const parts: Buffer[] = [];
  if (set !== null) for await (const { bytes } of set.records(from)) parts.push(Buffer.from(bytes));
  return Buffer.concat(parts);
}

async function encoded(encoding: Encoding): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const { first, count, bytes } of encoding.batches()) {
    expect([first - 1, count].map((rows) => rows * encoding.rowBytes)).toEqual([
      parts.reduce((sum, { length }) => sum + length, 0),
      bytes.length,
    ]);
    parts.push(bytes);
  }
  return Uint8Array.from(parts.flatMap((part) => [...part]));
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

/** A table with everything: numbers, missing ones, names in quotes with line breaks, categories, a category that is rare. */
const rows = Array.from({ length: 200 }, (_, i) => ({
  id: `row "${i}",\n${i}`,
  size: i % 7 === 3 ? null : Math.sin(i) * 10 + i / 3,
  color: i % 11 === 5 ? null : ['red', 'blue', 'dark green'][(i + (i >> 3)) % 3]!,
  price: i * 1.25 - 40,
  kind: i % 4 === 0 ? 'yes' : 'no',
}));
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const csv = [
  'id,size,color,price,kind',
  ...rows.map((r) => [quoted(r.id), r.size ?? 'NA', r.color ?? '', r.price, r.kind].join(',')),
].join('\r\n');

describe('a table, libs/data/SPEC.md', () => {
  it('is looked at in one pass', async () => {
    const seen = await look(await openSource(file(csv)));
    expect(seen).toMatchObject({ kind: 'csv', rows: 200, notes: [] });
    expect(seen.columns.map(({ name, guess, missing, distinct }) => [name, guess, missing, distinct])).toEqual([
      ['id', 'text', 0, 200],
      ['size', 'number', rows.filter(({ size }) => size === null).length, 171],
      ['color', 'category', rows.filter(({ color }) => color === null).length, 3],
      ['price', 'number', 0, 200],
      ['kind', 'category', 0, 2],
    ]);
    expect(seen.columns[4]!.counts).toEqual([
      { value: 'no', rows: 150 },
      { value: 'yes', rows: 50 },
    ]);
    expect(seen.columns[3]).toMatchObject({ least: -40, most: 208.75, isWhole: false });
  });

  it('becomes records in shuffled order, measured over its training rows alone', async () => {
    const data = await imported(csv, { label: ['price'], drop: ['id'] }, 50);
    const order = [...shuffledIndices(seed, rows.length)];
    const training = order.slice(50).map((index) => rows[index]!);
    const stats = (values: number[]) => {
      const center = values.reduce((sum, value) => sum + value, 0) / values.length;
      return { center, scale: Math.sqrt(values.reduce((sum, v) => sum + (v - center) ** 2, 0) / values.length) };
    };
    const [size, price] =
      data.header.columns[0]!.kind === 'number' ? [data.header.columns[0], target(data.header)] : [];
    const expectedSize = stats(training.flatMap((row) => row.size ?? []));
    expect(size!.center).toBeCloseTo(expectedSize.center, 10);
    expect(size!.scale).toBeCloseTo(expectedSize.scale, 10);
    expect(price!.scale).toBeCloseTo(stats(training.map((row) => row.price)).scale, 10);
    expect(data.header).toMatchObject({
      features: { dtype: 'int16', shape: [7], frac: 12 },
      columns: [
        { name: 'size' },
        { name: 'size?', kind: 'missing' },
        { name: 'color', kind: 'category', values: ['blue', 'dark green', 'red'] },
        { name: 'kind', kind: 'category', values: ['no', 'yes'] },
      ],
      split: { train: 150, validation: 50 },
    });
    const q = (value: number | null, { center, scale }: { center: number; scale: number }) =>
      Math.floor((((value ?? center) - center) / scale) * 4096 + 0.5);
    const record = (row: (typeof rows)[number]): number[] => [
      ...[q(row.size, size!), row.size === null ? 4096 : 0],
      ...['blue', 'dark green', 'red'].map((value) => (row.color === value ? 4096 : 0)),
      ...['no', 'yes'].map((value) => (row.kind === value ? 4096 : 0)),
      q(row.price, price!),
    ];
    const all = Buffer.concat([await bytesOf(data.validation), await bytesOf(data.train)]);
    const read = order.map((_, place) => [
      ...Array.from({ length: 7 }, (__, c) => all.readInt16LE(place * 18 + 2 * c)),
      all.readInt32LE(place * 18 + 14),
    ]);
    expect(read).toEqual(order.map((index) => record(rows[index]!)));
    expect(data.report).toMatchObject({ rows: 200, train: 150, validation: 50, dropped: 0, droppedColumns: ['id'] });
    expect(data.report.columns[1]).toMatchObject({ name: 'color', missing: 18, unseen: 0 });
    expect(await bytesOf(data.train, 149)).toEqual(all.subarray(199 * 18));
  });

  it('gives class labels in the order of their names, numbers by size', async () => {
    const data = await imported('x,label\n1,10\n2,9\n3,10\n4,2\n');
    expect(data.header.label).toEqual({
      kind: 'class',
      classes: 3,
      columns: [{ name: 'label', kind: 'category', values: ['2', '9', '10'] }],
    });
    const order = [...shuffledIndices(seed, 4)];
    const all = await bytesOf(data.train);
    expect(order.map((_, place) => all[place * 3 + 2])).toEqual(order.map((index) => [2, 1, 2, 0][index]));
  });

  it('has flags for labels of several columns', async () => {
    const data = await imported('x,a,b\n1,0,n\n2,1,y\n3,1,n\n', { label: ['a', 'b'] });
    expect(data.header.label).toMatchObject({ kind: 'vector', count: 2 });
    const order = [...shuffledIndices(seed, 3)];
    const all = await bytesOf(data.train);
    const labels = ['00', '11', '10'];
    expect(order.map((_, place) => `${all[place * 4 + 2]}${all[place * 4 + 3]}`)).toEqual(order.map((i) => labels[i]));
  });

  it('takes many columns of bytes for pixels', async () => {
    const names = Array.from({ length: 64 }, (_, i) => `p${i}`);
    const lines = Array.from({ length: 5 }, (_, r) => [r % 2, ...names.map((__, c) => (r * 64 + c) % 256)].join(','));
    const data = await imported(['label', ...names].join(',') + '\n' + lines.join('\n'));
    expect(data.header.features).toEqual({ dtype: 'uint8', shape: [64], frac: 8 });
    const first = shuffledIndices(seed, 5)[0]!;
    const all = await bytesOf(data.train);
    expect([...all.subarray(0, 65)]).toEqual([...names.map((_, c) => (first * 64 + c) % 256), first % 2]);
  });

  it('comes with a validation file of its own', async () => {
    const [train, validation] = [file('x,y\n1,1.5\n3,2.5\n'), file('x,y\n5,2.5\n7,0\n9,1\n')];
    const data = await importData({
      ...{ source: await openSource(train), validation: await openSource(validation) },
      ...{ seed, choices: { task: 'real' }, folder: join(folder, `w${made++}`) },
    });
    expect(data.header.split).toBe('given');
    expect(data.header.columns[0]).toMatchObject({ center: 2, scale: 1 });
    expect([data.train.count, data.validation!.count]).toEqual([2, 3]);
    const held = await bytesOf(data.validation);
    expect([0, 1, 2].map((place) => held.readInt16LE(place * 6))).toEqual(
      [3 * 4096, 5 * 4096, 7 * 4096].map((q) => Math.min(q, 32767)),
    );
  });

  it('drops rows without a label when asked, and says how many', async () => {
    const text = 'x,y\n1,a\n2,\n3,b\n\n4,a\n';
    expect(await failure(() => imported(text))).toMatchObject({ code: 'DATA_LABEL', row: 2, column: 'y' });
    const data = await imported(text, { missingLabel: 'drop' });
    expect(data.report).toMatchObject({ rows: 3, dropped: 1 });
    expect(data.report.notes.join()).toContain('1 blank lines');
  });

  it.each([
    [
      'DATA_NUMBER',
      'x,y\n1,2.5\n2,3.5\n1e,9.5\n4,4.5',
      { kinds: { x: 'number' }, task: 'real' } as const,
      { row: 3, column: 'x' },
    ],
    ['DATA_ROW_WIDTH', 'x,y\n1,a\n2,b,c\n', {}, { row: 2 }],
    ['DATA_CSV', 'x,y\n1,a\n2,"b\n', {}, { row: 2 }],
    ['DATA_CSV', 'x,y\n1,"a" b\n', {}, { row: 1 }],
    ['DATA_EMPTY', '', {}, {}],
    ['DATA_COLUMN_TWICE', 'x,x\n1,2\n', {}, { column: 'x' }],
    [
      ...(['DATA_COLUMN_MISSING', 'x,y\n1,2\n', { label: ['z'] }] as const),
      { action: 'check the spelling; a name that a plan has fits the data that the plan was made from' },
    ],
    ['DATA_LABEL', 'x,z\n1,2\n', {}, {}],
    ['DATA_LABEL', 'x,y\n1,a\n2,a\n', {}, {}],
    ['DATA_COLUMN_KIND', `x,y\n${Array.from({ length: 30 }, (_, i) => `t${i},1`).join('\n')}`, {}, {}],
    ['DATA_EMPTY', 'x,y\n', {}, {}],
    ['DATA_RANGE', 'x,y\n1,1\n1.5,2\n', { kinds: { x: 'integer' } } as const, { row: 2, column: 'x' }],
    ['DATA_RANGE', 'x,y\n1e308,1\n-1e308,2\n3,1\n', {}, { column: 'x' }],
  ])('refuses with %s', async (code, text, choices, place) => {
    expect(await failure(() => imported(text, choices))).toMatchObject({ code, ...place });
  });

  it('asks for a label, and where there is only text says how that itself is learnt', async () => {
    const words = await failure(() => imported('words\none two\nthree\n'));
    expect(words).toMatchObject({ code: 'DATA_LABEL', action: expect.stringContaining('--task language') });
    const numbered = await failure(() => imported('x\n1\n2\n'));
    expect(numbered).toMatchObject({ action: 'name it, one of x (--target or --label)' });
  });

  const column = (cells: readonly string[]): string =>
    `x,y\n${cells.map((cell, i) => `${cell},${i % 2}`).join('\n')}\n`;
  const numbers = Array.from({ length: 30 }, (_, i) => String(i));

  it('names the cell that keeps a column from being numbers', async () => {
    expect(await failure(() => imported(column([...numbers.slice(0, 20), '12 kg', ...numbers])))).toMatchObject({
      code: 'DATA_COLUMN_KIND',
      got: '"12 kg" in row 21, beside 50 numbers',
    });
    expect(await failure(() => imported(column(numbers.map((n) => `"1.0${n.padStart(2, '0')},5"`))))).toMatchObject({
      got: '"1.000,5" in row 1, a decimal comma',
      action: expect.stringContaining('decimals with a point'),
    });
    expect(await failure(() => imported(column(numbers.map((n) => `"1,0${n.padStart(2, '0')}"`))))).toMatchObject({
      action: expect.stringContaining('thousands without it'),
    });
    expect(await failure(() => imported(column(numbers.map((n) => `"1,0${n.padStart(2, '0')}.50"`))))).toMatchObject({
      got: '"1,000.50" in row 1, with a comma',
      action: expect.stringContaining('thousands without it'),
    });
    const days = numbers.map((n) => `2026-01-${String(Number(n) + 1).padStart(2, '0')} 12:00`);
    expect(await failure(() => imported(column(days)))).toMatchObject({
      got: 'dates, first "2026-01-01 12:00" in row 1',
      action: expect.stringContaining('days since a start'),
    });
    const { report } = await imported(column([...numbers, ...numbers, '12 kg', '12 kg']));
    expect(report.notes).toContain(
      'column "x" is read as categories: 60 of its cells are numbers, and "12 kg" in row 61 is none',
    );
  });

  it('lists labels that no training row has in one sentence', async () => {
    const text = `x,label\n${numbers.map((n) => `${n},c${n}`).join('\n')}\n`;
    const { report } = await imported(text, {}, 10);
    expect(
      report.notes.filter((note) => /^no training row has the label "c\d+", .* … \(10 in all\)/.test(note)),
    ).toHaveLength(1);
  });

  it('goes on from behind any batch of a file of many', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i},"a\n${i % 7}",${i % 2}`);
    const path = file(`x,note,y\n${lines.join('\n')}\n`);
    const source = await openSource(path);
    const batches: RowBatch[] = [];
    for await (const batch of source.rows()) batches.push(batch);
    expect(batches.length).toBeGreaterThan(3);
    expect(batches.at(-1)!.next).toMatchObject({ row: 20_000, byte: source.bytes });
    for (const { next } of batches.slice(0, -1)) {
      for await (const rest of source.rows(next)) {
        expect([rest.first, rest.rows[0]![0]]).toEqual([next.row + 1, String(next.row)]);
        break;
      }
    }
  });

  it('names UTF-16', async () => {
    const path = join(folder, 'wide.csv');
    writeFileSync(path, Buffer.from('\ufeffx,y\n1,2\n', 'utf16le'));
    expect(await failure(() => openSource(path))).toMatchObject({ code: 'DATA_ENCODING', got: 'UTF-16' });
  });

  it('names a file that is no UTF-8', async () => {
    const path = join(folder, 'latin.csv');
    writeFileSync(path, Buffer.from('x,y\n1,caf\xe9\n', 'latin1'));
    const refused = await failure(async () => look(await openSource(path)));
    expect(refused).toMatchObject({ code: 'DATA_ENCODING', row: 1, column: 'y' });
  });

  it.each([';', '\t', '|'])(
    'finds the delimiter %j, passes a byte order mark, and takes columns without names',
    async (mark) => {
      const seen = await look(await openSource(file(`\ufeffa${mark}"b,c"\n1${mark}2\n`)));
      expect(seen.columns.map(({ name }) => name)).toEqual(['a', 'b,c']);
      const without = await look(await openSource(file(`1${mark}2\n3${mark}4\n`), { hasNames: false }));
      expect([without.rows, without.columns.map(({ name }) => name)]).toEqual([2, ['c1', 'c2']]);
    },
  );
});

function target({ label }: DataHeader) {
  const column = label.kind === 'real' ? label.columns[0] : undefined;
  return column?.kind === 'number' ? column : undefined;
}

describe('any table', () => {
  const cell = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), fc.constant(null));
  const table = fc.array(fc.record({ a: cell, b: fc.constantFrom('p', 'q,"', 'r\n'), y: fc.constantFrom('0', '1') }), {
    minLength: 4,
    maxLength: 40,
  });

  it('gives the same integers when its header reads its own rows again', async () => {
    await fc.assert(
      fc.asyncProperty(table, fc.integer({ min: 0, max: 3 }), async (drawn, validation) => {
        fc.pre(new Set(drawn.map(({ y }) => y)).size === 2 && drawn.some(({ a }) => a !== null));
        const text = `a,b,y\n${drawn.map(({ a, b, y }) => `${a ?? ''},${quoted(b)},${y}`).join('\n')}`;
        const data = await imported(text, { kinds: { a: 'number', b: 'category' }, task: 'class' }, validation);
        const again = encodeWith(data.header, await openSource(file(text)), 'records');
        const parts: Buffer[] = [];
        for await (const { bytes } of again.batches()) parts.push(Buffer.from(bytes));
        const inFileOrder = Buffer.concat(parts);
        const all = Buffer.concat([await bytesOf(data.validation), await bytesOf(data.train)]);
        const order = [...shuffledIndices(seed, drawn.length)];
        const size = again.rowBytes;
        expect(all).toEqual(Buffer.concat(order.map((row) => inFileOrder.subarray(row * size, (row + 1) * size))));
      }),
      { numRuns: 40 },
    );
  });
});

describe('an import that is interrupted', () => {
  const lines = Array.from(
    { length: 60_000 },
    (_, i) => `${i},${'x'.repeat(20)}${i % 50},${(i * 37) % 1000},"${i % 3}"`,
  );
  const text = `n,name,size,y\n${lines.join('\n')}`;
  const choices: Choices = { kinds: { name: 'category' } };

  it('goes on and ends in the same bytes, and a finished one is not read again', async () => {
    const whole = await imported(text, choices, 1000);
    const path = file(text);
    const work = join(folder, `w${made++}`);
    const request = async () => ({ source: await openSource(path), validation: 1000, seed, choices, folder: work });
    const stop = new AbortController();
    const onProgress = (progress: { stage: string; done: number; of: number }): void => {
      if (progress.stage === 'encode' && progress.done > 30_000) stop.abort();
    };
    await expect(importData(await request(), { onProgress, signal: stop.signal })).rejects.toThrow(/abort/i);
    const stages: string[] = [];
    const data = await importData(await request(), { onProgress: ({ stage }) => stages.push(stage) });
    expect(stages).not.toContain('read');
    for (const set of ['train', 'validation'] as const) {
      expect((await bytesOf(data[set])).equals(await bytesOf(whole[set]))).toBe(true);
    }
    expect(readFileSync(join(work, 'header.json'))).toEqual(Buffer.from(canonicalHeader(whole.header)));
    const again = await importData(await request(), {
      onProgress: () => {
        throw new Error('read again');
      },
    });
    expect(again.report).toEqual(data.report);
  });
});

describe('a header reads new data', () => {
  it('by name, without the label, and counts what it has not seen', async () => {
    const { header } = await imported('x,color,y\n1,red,a\n2,blue,b\n3,red,a\n');
    const encoding = encodeWith(
      header,
      await openSource(file('extra,color,x\n9,green,2\n9,red,1e9\n9,,-\n'.replace('-', 'NA'))),
      'features',
    );
    expect(encoding.ignored).toEqual(['extra']);
    const features = new Int16Array((await encoded(encoding)).buffer);
    expect([...features]).toEqual([0, 0, 0, 32767, 0, 4096, 0, 0, 0]);
    expect(encoding.report()).toMatchObject([
      { name: 'x', missing: 1, unseen: 0, unseenValues: [], clamped: 1 },
      { name: 'color', missing: 1, unseen: 1, unseenValues: ['green'], clamped: 0 },
    ]);
  });

  it('refuses a table without a column, and a label that is none of the classes', async () => {
    const { header } = await imported('x,y\n1,a\n2,b\n');
    const other = await openSource(file('z,y\n1,c\n'));
    expect(() => encodeWith(header, other, 'features')).toThrow(
      expect.objectContaining({ code: 'DATA_COLUMN_MISSING' }),
    );
    const source = await openSource(file('x,y\n1,a\n1,c\n'));
    const refused = await failure(async () => {
      for await (const _ of encodeWith(header, source, 'records').batches());
    });
    expect(refused).toMatchObject({ code: 'DATA_LABEL', row: 2, column: 'y', got: 'c' });
  });

  it('takes columns without names in the order of the header', async () => {
    const { header } = await imported('1,2,a\n3,4,b\n', { label: ['c3'] }, 0, { hasNames: false });
    const encoding = encodeWith(header, await openSource(file('1,2\n'), { hasNames: false }), 'features');
    expect([...new Int16Array((await encoded(encoding)).buffer)]).toEqual([-4096, -4096]);
  });
});
