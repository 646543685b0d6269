/** What is read of a file of Parquet at a time: its metadata, or the columns of a row group. */
import { open } from 'node:fs/promises';
import { parquetMetadataAsync, parquetRead, type AsyncBuffer, type FileMetaData } from 'hyparquet';
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
  await parquetRead({
    ...{ file, metadata, compressors, rowStart: first, rowEnd: first + count, columns: [...columns] },
    onChunk({ columnName, columnData, rowStart }) {
      const runs = read.get(columnName) ?? [];
      read.set(columnName, runs);
      runs.push({ from: rowStart - first, values: columnData });
    },
  });
  for (const runs of read.values()) runs.sort((a, b) => a.from - b.from);
  return read;
}
