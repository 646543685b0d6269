/** What every reader of a file offers: named columns and a stream of rows that can begin anywhere it was left. */

import type { TextTokenizer } from './text/tokenizer.js';

/** Integers or floats of one cell: pixels, token ids, a row of a matrix. */
export type Numbers =
  Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

/** null: the cell is missing. */
export type Cell = string | number | null | Numbers;

/** What a cell of several numbers holds. */
export interface TensorType {
  readonly kind: 'image' | 'integer' | 'number' | 'tokens';
  /** Sides; their product is the length of every cell. */
  readonly shape: readonly number[];
  readonly dtype: 'uint8' | 'int16' | 'int32' | 'uint32' | 'float64';
  /** Of pictures: whether others than those of the shape are resized. */
  readonly fit?: 'exact' | 'stretch';
}

export interface SourceColumn {
  readonly name: string;
  /** null: one text or number a row. */
  readonly tensor: TensorType | null;
}

/** Where a source can go on reading; JSON, and of use to the same kind of source on the same file alone. */
export interface Mark {
  /** Rows before it. */
  readonly row: number;
  /** Bytes before it, where the source reads a file from front to back. */
  readonly byte: number;
  /** What was counted before it for `notes`. */
  readonly counted?: readonly number[];
}

export interface RowBatch {
  readonly rows: readonly (readonly Cell[])[];
  /** Of pictures: path of each within the folder. */
  readonly files?: readonly string[];
  /** Number of the first row, from 1. */
  readonly first: number;
  /** Behind the last row. */
  readonly next: Mark;
}

export interface DataSource {
  readonly kind: 'csv' | 'tsv' | 'parquet' | 'npy' | 'npz' | 'images' | 'jsonl' | 'text' | 'idx';
  /** Name of the file or folder, for messages. */
  readonly file: string;
  /** Bytes that are read in all, for progress; 0 where nobody knows. */
  readonly bytes: number;
  /** What `bytes` and marks count where it is not bytes. */
  readonly unit?: 'rows';
  /** What tells this source from another or from itself after a change: path, size and time of change. */
  readonly fingerprint: string;
  readonly columns: readonly SourceColumn[];
  /** false: the names of the columns are made up. */
  readonly hasNames?: boolean;
  /** The tokenizer that cut the text, for the header. */
  readonly tokenizer?: TextTokenizer;
  /** What was left out or changed while reading, in words with counts; complete when the rows have been read. */
  notes(): readonly string[];
  /**
   * @param wanted by column; absent: all. What another one holds does not matter, and its cells may be null
   * @throws DataError DATA_* naming file, row and column
   */
  rows(from?: Mark, wanted?: readonly boolean[]): AsyncIterable<RowBatch>;
}

export const start: Mark = { row: 0, byte: 0 };

/** How far a long work is; `of` is 0 where nobody knows. */
interface Progress {
  readonly stage: 'look' | 'read' | 'measure' | 'encode' | 'shuffle';
  readonly done: number;
  readonly of: number;
  readonly unit: 'bytes' | 'rows';
}

export interface Watch {
  onProgress?(progress: Progress): void;
  readonly signal?: AbortSignal;
}
