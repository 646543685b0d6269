/** Reader of NumPy's .npy and .npz (numpy/lib/format.py, versions 1 to 3; ZIP, stored or deflated). */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { crc32, createInflateRaw } from 'node:zlib';
import { refuseData } from '../errors.js';
import * as limits from '../limits.js';
import type { DataSource } from '../source.js';
import { arraySource, sizeOf, type ElementType, type StoredArray } from './arrays.js';
import { zipEntries, type ZipEntry } from './zip.js';

const types: Readonly<Record<string, ElementType>> = {
  ...Object.fromEntries((['u1', 'i1', 'b1'] as const).map((type) => [`|${type}`, type])),
  ...Object.fromEntries(
    (['u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f2', 'f4', 'f8'] as const).map((type) => [`<${type}`, type]),
  ),
};

/** @param labels a second array, one element a row @throws DataError DATA_NPY, DATA_SHAPE, DATA_LIMIT, DATA_TRUNCATED */
export async function openNpy(path: string, labels?: string): Promise<DataSource> {
  const paths = labels === undefined ? [path] : [path, labels];
  const stored: StoredArray[] = [];
  let fingerprint = '';
  let bytes = 0;
  for (const [index, one] of paths.entries()) {
    const { size, mtimeMs } = await stat(one);
    fingerprint += `${one} ${size} ${mtimeMs} `;
    bytes += size;
    const file = basename(one);
    const head = await headOf(async function* () {
      yield* createReadStream(one, { end: limits.npyHeaderBytesMax - 1 });
    }, file);
    const needed = head.dataStart + rowBytesOf(head) * head.shape[0]!;
    if (size !== needed) {
      refuseData('DATA_TRUNCATED', { file }, { expected: `${needed} bytes`, got: size, action: 'get the file again' });
    }
    const rowBytes = rowBytesOf(head);
    stored.push({
      ...{ name: index === 0 ? 'x' : 'label', type: head.type, shape: head.shape },
      open: (row) => createReadStream(one, { start: head.dataStart + row * rowBytes }),
    });
  }
  return arraySource({ kind: 'npy', file: basename(path), bytes, fingerprint }, stored);
}

/** Of an archive: what is read of it, by the name that its column gets. */
export type ArrayNames = Readonly<Record<string, string>>;

/** @throws DataError DATA_ZIP, DATA_NPY, DATA_SHAPE, DATA_LIMIT, DATA_TRUNCATED, DATA_COLUMN_MISSING where it has no such array */
export async function openNpz(path: string, arrays?: ArrayNames): Promise<DataSource> {
  const { size, mtimeMs } = await stat(path);
  const file = basename(path);
  const handle = await open(path);
  let entries: readonly ZipEntry[];
  try {
    entries = await zipEntries(handle, size, file);
  } finally {
    await handle.close();
  }
  const stored: StoredArray[] = [];
  for (const [name, entry] of chosen(entries, arrays, file)) {
    const head = await headOf(() => contentOf(path, entry), file, name);
    const rowBytes = rowBytesOf(head);
    if (head.dataStart + rowBytes * head.shape[0]! !== entry.size) {
      refuseData(
        'DATA_TRUNCATED',
        { file, column: entry.name },
        {
          expected: `${head.dataStart + rowBytes * head.shape[0]!} bytes`,
          got: entry.size,
          action: 'get the file again',
        },
      );
    }
    stored.push({
      ...{ name, type: head.type, shape: head.shape },
      open: (row) => skipped(contentOf(path, entry), head.dataStart + row * rowBytes),
    });
  }
  if (stored.length === 0) {
    refuseData('DATA_EMPTY', { file }, { expected: 'arrays', got: 'none', action: 'save it with numpy.savez' });
  }
  const fingerprint = `${path} ${size} ${mtimeMs}${arrays === undefined ? '' : ` ${JSON.stringify(arrays)}`}`;
  return arraySource({ kind: 'npz', file, bytes: size, fingerprint }, stored);
}

/** By name of the column. */
function chosen(entries: readonly ZipEntry[], arrays: ArrayNames | undefined, file: string): [string, ZipEntry][] {
  const all = entries.filter(({ name }) => name.endsWith('.npy'));
  const named = new Map(all.map((entry) => [entry.name.slice(0, -'.npy'.length), entry]));
  if (arrays === undefined) return [...named];
  return Object.entries(arrays).map(([column, array]) => {
    const entry = named.get(array);
    if (entry !== undefined) return [column, entry];
    const expected = `one of the arrays ${[...named.keys()].slice(0, 20).join(', ')}`;
    return refuseData('DATA_COLUMN_MISSING', { file }, { expected, got: array, action: 'name an array of the file' });
  });
}

async function* contentOf(
  path: string,
  { name, isDeflated, start, packed, size, checksum }: ZipEntry,
): AsyncIterable<Uint8Array> {
  if (packed === 0) return;
  const raw = createReadStream(path, { start, end: start + packed - 1 });
  const content = isDeflated ? raw.pipe(createInflateRaw()) : raw;
  if (isDeflated) raw.on('error', (error) => content.destroy(error));
  const place = { file: basename(path), column: name };
  const action = 'get the file again';
  let [done, found] = [0, 0];
  try {
    for await (const chunk of content as AsyncIterable<Uint8Array>) {
      done += chunk.length;
      if (done > size) break;
      found = crc32(chunk, found);
      if (done === size && found !== checksum) {
        refuseData('DATA_ZIP', place, { expected: `bytes with CRC-32 ${checksum}`, got: found, action });
      }
      yield chunk;
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || !/^Z_/.test(String(error.code))) throw error;
    refuseData('DATA_ZIP', place, { expected: 'deflated bytes', got: error.message, action });
  } finally {
    raw.destroy();
    content.destroy();
  }
}

async function* skipped(chunks: AsyncIterable<Uint8Array>, bytes: number): AsyncIterable<Uint8Array> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

interface Head {
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly dataStart: number;
}

function rowBytesOf({ type, shape }: Head): number {
  return shape.slice(1).reduce((product, side) => product * side, 1) * sizeOf(type);
}

/** What makes elements numbers; no cast makes numbers of texts, objects or fields. */
function castAction(descr: string | undefined): string {
  if (descr === undefined || /^[<>|=]?[USOV]/.test(descr)) {
    return 'save integers in its place (numpy.unique(array, return_inverse=True)[1]), leave the array out, or give the data as CSV';
  }
  const turned = descr.replace('>', '<');
  return `save array.astype("${Object.hasOwn(types, turned) ? turned : '<f4'}")`;
}

/** @param array of an archive, for messages @throws DataError DATA_NPY */
async function headOf(content: () => AsyncIterable<Uint8Array>, file: string, array?: string): Promise<Head> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of content()) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= limits.npyHeaderBytesMax) break;
  }
  const refuse = (expected: string, got: unknown, action = 'save it again with numpy.save'): never =>
    refuseData('DATA_NPY', { file, ...(array !== undefined && { column: array }) }, { expected, got, action });
  if (bytes.length < 12 || bytes.toString('latin1', 0, 6) !== '\x93NUMPY') refuse('an array of NumPy', 'other bytes');
  const version = bytes[6]!;
  if (version < 1 || version > 3) refuse('version 1 to 3', version);
  const lengthBytes = version === 1 ? 2 : 4;
  const length = version === 1 ? bytes.readUInt16LE(8) : bytes.readUInt32LE(8);
  const dataStart = 8 + lengthBytes + length;
  if (dataStart > bytes.length || dataStart > limits.npyHeaderBytesMax)
    refuse(`a header of at most ${limits.npyHeaderBytesMax} bytes`, length);
  const text = bytes.toString('utf8', 8 + lengthBytes, dataStart);
  const descr = /'descr':\s*'([^']*)'/.exec(text)?.[1];
  const type = descr === undefined || !Object.hasOwn(types, descr) ? undefined : types[descr];
  if (type === undefined) {
    return refuse(`an element type of ${Object.keys(types).join(' ')}`, descr, castAction(descr));
  }
  if (!/'fortran_order':\s*False/.test(text)) {
    refuse('rows one after the other (fortran_order False)', text.trim(), 'save numpy.ascontiguousarray(array)');
  }
  const sides = /'shape':\s*\(([\d\s,L]*)\)/.exec(text)?.[1];
  const shape = sides
    ?.split(',')
    .filter((side) => side.trim() !== '')
    .map(Number);
  if (shape === undefined || shape.length === 0 || shape.length > 5) return refuse('a shape of 1 to 5 sides', sides);
  if (!shape.every((side) => Number.isSafeInteger(side) && side >= 1)) refuse('sides of at least 1', sides);
  const rowBytes = shape.slice(1).reduce((product, side) => product * side, 1) * sizeOf(type);
  if (shape[0]! > limits.rowsMax || rowBytes > limits.recordBytesMax) {
    refuse(`at most ${limits.rowsMax} rows of at most ${limits.recordBytesMax} bytes`, sides);
  }
  return { type, shape, dataStart };
}
