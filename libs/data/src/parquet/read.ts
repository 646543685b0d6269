/** What is read of a file of Parquet at a time: its metadata, or the columns of a row group. */
import { open } from 'node:fs/promises';
import {
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type AsyncBuffer,
  type FileMetaData,
  type SchemaElement,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import * as limits from '../limits.js';

interface ParquetFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

export type MetadataRequest = ParquetFile & { readonly what: 'metadata' };

/** Rows `first` to `first + count` of the file. */
export type GroupRequest = ParquetFile & {
  readonly what: 'group';
  readonly metadata: FileMetaData;
  readonly first: number;
  readonly count: number;
  /** Those that are read. */
  readonly columns: readonly string[];
};

/** Values of a column from a row of the group on. */
export interface Run {
  readonly from: number;
  readonly values: ArrayLike<unknown>;
}

export type Columns = ReadonlyMap<string, readonly Run[]>;

export async function readParquet(request: MetadataRequest | GroupRequest): Promise<FileMetaData | Columns> {
  const { path, size } = request;
  const handle = await open(path);
  const slice = async (from: number, to = size): Promise<ArrayBuffer> => {
    const [begin, end] = [from < 0 ? size + from : from, to < 0 ? size + to : to];
    const length = end - begin;
    if (!(begin >= 0 && length >= 0 && end <= size) || length > limits.rowGroupBytesMax) {
      throw new RangeError(`bytes ${begin} to ${end} of a file of ${size}`);
    }
    const bytes = Buffer.alloc(length);
    await handle.read(bytes, 0, length, begin);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length) as ArrayBuffer;
  };
  try {
    const file = { byteLength: size, slice };
    return request.what === 'metadata' ? await parquetMetadataAsync(file) : await readGroup(file, request);
  } finally {
    await handle.close();
  }
}

async function readGroup(file: AsyncBuffer, { metadata, first, count, columns }: GroupRequest): Promise<Columns> {
  const read = new Map<string, Run[]>();
  const decimals = parquetSchema(metadata).children.filter(({ element }) => isDecimal(element));
  const scales = new Map(decimals.map(({ element: { name, scale } }) => [name, scale ?? 0]));
  const whole = { ...metadata, schema: metadata.schema.map((one) => (isDecimal(one) ? unscaled(one) : one)) };
  for (const areDecimals of [false, true]) {
    const names = columns.filter((name) => scales.has(name) === areDecimals);
    if (names.length === 0) continue;
    await parquetRead({
      ...{ file, metadata: areDecimals ? whole : metadata, compressors, utf8: !areDecimals, columns: names },
      ...{ rowStart: first, rowEnd: first + count },
      onChunk({ columnName, columnData, rowStart }) {
        const runs = read.get(columnName) ?? [];
        read.set(columnName, runs);
        const values = areDecimals ? Array.from(columnData, decimalOf(scales.get(columnName)!)) : columnData;
        runs.push({ from: rowStart - first, values });
      },
    });
  }
  for (const runs of read.values()) runs.sort((a, b) => a.from - b.from);
  return read;
}

function isDecimal({ converted_type: kind, logical_type: logical }: SchemaElement): boolean {
  return kind === 'DECIMAL' || logical?.type === 'DECIMAL';
}

/** As it is stored: the library makes a product of float64 of it, which is often not the nearest to the decimal. */
function unscaled(element: SchemaElement): SchemaElement {
  const stored = { ...element };
  delete stored.converted_type;
  delete stored.logical_type;
  return stored;
}

/** @returns the number nearest to each decimal; of a whole one that float64 does not hold, the whole number */
function decimalOf(scale: number): (value: unknown) => unknown {
  return (value) => {
    if (value === null || value === undefined) return value;
    const whole = value instanceof Uint8Array ? signed(value) : BigInt(value as number | bigint);
    return scale > 0 ? Number(`${whole}e-${scale}`) : whole;
  };
}

/** Two's complement, the highest byte first. */
function signed(bytes: Uint8Array): bigint {
  const value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  return BigInt.asIntN(8 * bytes.length, value);
}
