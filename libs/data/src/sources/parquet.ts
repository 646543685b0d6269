/** Reader of Parquet, a row group at a time: flat columns of numbers, texts, booleans and times; others are passed over. */
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { parquetSchema, type FileMetaData } from 'hyparquet';
import { optionValue, refuseData, wholeNumber, type Place } from '../errors.js';
import * as limits from '../limits.js';
import { askParquet } from '../parquet/reader.js';
import type { Run } from '../parquet/read.js';
import { start, type Cell, type DataSource } from '../source.js';

const perBatch = 4_096;

/** @throws DataError DATA_PARQUET, DATA_LIMIT, DATA_EMPTY, DATA_COLUMN_TWICE; from `rows` DATA_CELL too */
export async function openParquet(path: string): Promise<DataSource> {
  const { size, mtimeMs } = await stat(path);
  const file = basename(path);
  const metadata = await asked(file, () => askParquet({ what: 'metadata', path, size }, limits.parquetMilliseconds));
  const groups = groupsOf(metadata, size, file);
  const stored = columnsOf(metadata, file);
  return {
    ...{ kind: 'parquet', file, bytes: size, columns: stored.map(({ name }) => ({ name, tensor: null })) },
    fingerprint: `${path} ${size} ${mtimeMs}`,
    notes: () => [],
    async *rows(from = start, wanted) {
      const read = stored.map((column, index) => (wanted?.[index] === false ? null : flat(column, file)));
      const names = read.filter((name) => name !== null);
      for (const { first, count, end, milliseconds } of groups) {
        if (first + count <= from.row) continue;
        const group = { what: 'group', path, size, metadata, first, count, columns: names } as const;
        const columns = await asked(file, () => askParquet(group, milliseconds));
        const values = read.map((name) => (name === null ? () => null : cursor(columns.get(name))));
        for (let at = Math.max(first, from.row); at < first + count; at += perBatch) {
          const length = Math.min(perBatch, first + count - at);
          const rows = Array.from({ length }, (_, index) =>
            values.map((value, column) =>
              cellOf(value(at - first + index), { file, row: at + index + 1, column: stored[column]!.name }),
            ),
          );
          yield { rows, first: at + 1, next: { row: at + length, byte: at + length === first + count ? end : 0 } };
        }
      }
    },
  };
}

interface Group {
  /** Rows before it, and in it. */
  readonly first: number;
  readonly count: number;
  /** Bytes of the file up to its end, about. */
  readonly end: number;
  /** That reading it may take. */
  readonly milliseconds: number;
}

function groupsOf({ row_groups: given, num_rows: all }: FileMetaData, size: number, file: string): readonly Group[] {
  let first = 0;
  const groups = given.map(({ num_rows: rows, total_byte_size: bytes, columns }, index) => {
    const count = Number(rows);
    const unpacked = columns.reduce(
      (sum, { meta_data: meta }) => sum + Number(meta?.total_uncompressed_size ?? 0n),
      Number(bytes),
    );
    if (!(count >= 0) || first + count > limits.rowsMax || unpacked > 2 * limits.rowGroupBytesMax) {
      refuseData(
        'DATA_LIMIT',
        { file },
        {
          expected: `row groups of at most ${limits.rowGroupBytesMax} bytes, and ${limits.rowsMax} rows in all`,
          got: `${count} rows, ${unpacked} bytes in group ${index + 1}`,
          action: 'write the file with smaller row groups',
        },
      );
    }
    // Runs pack many rows into few bytes, but not without bound.
    if (count > 0 && (columns.length === 0 || count > limits.rowGroupRowsMax)) {
      refuseData(
        'DATA_LIMIT',
        { file },
        {
          expected: `row groups of at most ${limits.rowGroupRowsMax} rows`,
          got: count,
          action: 'write the file with smaller row groups',
        },
      );
    }
    first += count;
    const milliseconds = limits.parquetMilliseconds + unpacked / limits.parquetBytesPerMillisecond;
    return { first: first - count, count, end: Math.floor((size * (index + 1)) / given.length), milliseconds };
  });
  if (first === 0 || BigInt(first) !== all) {
    refuseData(
      'DATA_EMPTY',
      { file },
      { expected: `${all} rows, 1 at least`, got: first, action: 'write the file again' },
    );
  }
  return groups;
}

interface StoredColumn {
  readonly name: string;
  /** A list or a structure a row. */
  readonly isNested: boolean;
}

function columnsOf(metadata: FileMetaData, file: string): readonly StoredColumn[] {
  const { children } = parsed(file, () => parquetSchema(metadata));
  const columns = children.map(({ element, children: inner }) => ({
    name: element.name,
    isNested: inner.length > 0 || element.repetition_type === 'REPEATED',
  }));
  const names = columns.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    refuseData(
      'DATA_COLUMN_TWICE',
      { file, column: twice },
      { expected: 'every name once', got: twice, action: 'rename it' },
    );
  }
  if (names.length < 1 || names.length > limits.parquetColumnsMax) {
    refuseData(
      'DATA_LIMIT',
      { file },
      {
        expected: `1 to ${limits.parquetColumnsMax} columns`,
        got: names.length,
        action: 'write fewer columns',
      },
    );
  }
  return columns;
}

/** @returns the name of a column of single values */
function flat({ name, isNested }: StoredColumn, file: string): string {
  if (!isNested) return name;
  return refuseData(
    'DATA_CELL',
    { file, column: name },
    {
      expected: 'one value a row',
      got: 'a list or a structure',
      action: `${dropping(name)}, or write it as columns of single values`,
    },
  );
}

function dropping(name: string): string {
  return `drop the column (--drop ${optionValue(name)})`;
}

/** Values of a column by rising row; undefined where the file says there is one and holds none. */
function cursor(runs: readonly Run[] = []): (row: number) => unknown {
  let at = 0;
  return (row) => {
    while (at < runs.length && row >= runs[at]!.from + runs[at]!.values.length) at += 1;
    const run = runs[at];
    return run === undefined || row < run.from ? undefined : run.values[row - run.from];
  };
}

function cellOf(value: unknown, place: Place): Cell {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint' && BigInt(Number(value)) === value) return Number(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  const drop = dropping(place.column!);
  const [expected, got, action] =
    typeof value === 'bigint'
      ? [wholeNumber, String(value), `${drop}, or write it as text, which can be a category`]
      : [
          'a number, text, boolean or time',
          value === undefined ? 'nothing' : typeof value,
          `${drop}, or write it as one of these`,
        ];
  return refuseData('DATA_CELL', place, { expected, got, action });
}

async function asked<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    return refuseParquet(file, error);
  }
}

function parsed<T>(file: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    return refuseParquet(file, error);
  }
}

/** Whatever the library stumbles over is a file that it cannot read. */
function refuseParquet(file: string, error: unknown): never {
  return refuseData(
    'DATA_PARQUET',
    { file },
    {
      expected: 'a Parquet file',
      got: error instanceof Error ? error.message : String(error),
      action: 'write the file again; encrypted files are not read',
    },
  );
}
