/** Rows of one or more arrays that lie element after element in files: the common part of NPY, NPZ and IDX. */
import { refuseData, wholeNumber, type Place } from '../errors.js';
import * as limits from '../limits.js';
import { start, type Cell, type DataSource, type Numbers, type SourceColumn, type TensorType } from '../source.js';

/** How elements are stored, little-endian. */
export type ElementType = 'u1' | 'i1' | 'b1' | 'u2' | 'i2' | 'u4' | 'i4' | 'u8' | 'i8' | 'f2' | 'f4' | 'f8';

export interface StoredArray {
  readonly name: string;
  readonly type: ElementType;
  /** Rows first. */
  readonly shape: readonly number[];
  /** The bytes of the rows from one on. */
  open(row: number): AsyncIterable<Uint8Array>;
}

/** What an array's elements are in a record; u4 and whole numbers of 64 bits are read as numbers. */
const tensors: Readonly<Record<ElementType, Pick<TensorType, 'kind' | 'dtype'>>> = {
  u1: { kind: 'integer', dtype: 'uint8' },
  b1: { kind: 'integer', dtype: 'uint8' },
  i1: { kind: 'integer', dtype: 'int16' },
  i2: { kind: 'integer', dtype: 'int16' },
  u2: { kind: 'integer', dtype: 'int32' },
  i4: { kind: 'integer', dtype: 'int32' },
  ...Object.fromEntries(
    (['u4', 'u8', 'i8', 'f2', 'f4', 'f8'] as const).map((type) => [type, { kind: 'number', dtype: 'float64' }]),
  ),
} as Readonly<Record<ElementType, Pick<TensorType, 'kind' | 'dtype'>>>;

const arrays = { uint8: Uint8Array, int16: Int16Array, int32: Int32Array, uint32: Uint32Array, float64: Float64Array };

export function sizeOf(type: ElementType): number {
  return Number(type[1]);
}

/** @throws DataError DATA_SHAPE, DATA_LIMIT, DATA_COLUMN_TWICE, and DATA_CELL of its rows */
export function arraySource(
  about: Pick<DataSource, 'kind' | 'file' | 'bytes' | 'fingerprint'>,
  stored: readonly StoredArray[],
): DataSource {
  const rows = stored[0]!.shape[0]!;
  const other = stored.find(({ shape }) => shape[0] !== rows);
  if (other !== undefined) {
    refuseData(
      'DATA_SHAPE',
      { file: about.file, column: other.name },
      {
        expected: `${rows} rows, as "${stored[0]!.name}" has`,
        got: other.shape[0],
        action: 'choose arrays of as many rows (--arrays): of one split, where the file has several',
      },
    );
  }
  if (rows < 1 || rows > limits.rowsMax) {
    refuseData(
      'DATA_LIMIT',
      { file: about.file },
      {
        expected: `1 to ${limits.rowsMax} rows`,
        got: rows,
        action: 'give other data',
      },
    );
  }
  const parts = stored.map((array) => partOf(array));
  checkNames(parts, about.file);
  return {
    ...about,
    columns: parts.flatMap(({ columns }) => columns),
    notes: () => [],
    async *rows(from = start, wanted) {
      const readers = parts.map(({ array, rowBytes }) => new ByteRows(array.open(from.row), rowBytes, about.file));
      const rowBytes = parts.reduce((sum, part) => sum + part.rowBytes, 0);
      const perBatch = Math.max(1, Math.min(4_096, Math.floor(limits.batchBytes / rowBytes)));
      const firstColumns = parts.map((_, index) => parts.slice(0, index).flatMap(({ columns }) => columns).length);
      for (let row = from.row; row < rows; row += perBatch) {
        const count = Math.min(perBatch, rows - row);
        const behind = row + count;
        const cells: Cell[][] = Array.from({ length: count }, () => []);
        for (const [index, part] of parts.entries()) {
          const bytes = await readers[index]!.take(count);
          part.read(bytes, cells, (offset, place, got) => {
            const column = part.columns[place]!.name;
            if (wanted?.[firstColumns[index]! + place] !== false)
              refuseWhole({ file: about.file, row: row + offset + 1, column }, got);
          });
        }
        yield {
          rows: cells,
          first: row + 1,
          next: { row: behind, byte: behind === rows ? about.bytes : Math.min(about.bytes, behind * rowBytes) },
        };
      }
      for (const reader of readers) await reader.close();
    },
  };
}

/** @throws DataError DATA_COLUMN_TWICE: places of an array may have the name of another one */
function checkNames(parts: readonly Part[], file: string): void {
  const owners = new Map<string, string>();
  for (const { array, columns } of parts) {
    for (const { name } of columns) {
      const other = owners.get(name);
      owners.set(name, array.name);
      if (other === undefined) continue;
      refuseData(
        'DATA_COLUMN_TWICE',
        { file, column: name },
        {
          expected: `columns of their own for the arrays "${other}" and "${array.name}"`,
          got: name,
          action: `name the arrays to read, this one otherwise (--arrays ${other} other=${array.name} …)`,
        },
      );
    }
  }
}

interface Part {
  readonly array: StoredArray;
  readonly rowBytes: number;
  readonly columns: readonly SourceColumn[];
  /** Adds the cells of each row. */
  read(bytes: Uint8Array, rows: Cell[][], onRounded: OnRounded): void;
}

/** A whole number that float64 rounds. @param row of those read @param column of the part's */
type OnRounded = (row: number, column: number, got: bigint) => void;

function refuseWhole(place: Place, got: bigint): never {
  return refuseData('DATA_CELL', place, {
    expected: wholeNumber,
    got,
    action: 'number classes from 0; where near is enough save array.astype("<f8"); or leave the array out (--arrays)',
  });
}

function partOf(array: StoredArray): Part {
  const { name, type } = array;
  // A column of one, as Keras saves labels.
  const shape = array.shape.length === 2 && array.shape[1] === 1 ? [] : array.shape.slice(1);
  const length = shape.reduce((product, side) => product * side, 1);
  const size = sizeOf(type);
  const { kind, dtype } = tensors[type];
  const isMatrix = kind === 'number' && shape.length === 1 && length <= limits.columnsOfMatrixMax;
  if (shape.length === 0 || isMatrix) {
    const columns = shape.length === 0 ? [name] : Array.from({ length }, (_, index) => `${name}${index}`);
    return {
      ...{ array, rowBytes: length * size, columns: columns.map((one) => ({ name: one, tensor: null })) },
      read(bytes, rows, onRounded) {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        for (const [row, cells] of rows.entries()) {
          for (let i = 0; i < length; i++) {
            const at = (row * length + i) * size;
            const value = elementAt(view, at, type);
            const rounded = roundedAt(view, at, type, value);
            if (rounded !== null) onRounded(row, i, rounded);
            cells.push(value);
          }
        }
      },
    };
  }
  return {
    ...{ array, rowBytes: length * size, columns: [{ name, tensor: { kind, dtype, shape } }] },
    read(bytes, rows, onRounded) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (const [row, cells] of rows.entries()) {
        const numbers: Numbers = new arrays[dtype](length);
        for (let i = 0; i < length; i++) {
          const at = (row * length + i) * size;
          numbers[i] = elementAt(view, at, type);
          const rounded = roundedAt(view, at, type, numbers[i]!);
          if (rounded !== null) onRounded(row, 0, rounded);
        }
        cells.push(numbers);
      }
    },
  };
}

function elementAt(view: DataView, at: number, type: ElementType): number {
  switch (type) {
    case 'u1':
      return view.getUint8(at);
    case 'b1':
      return view.getUint8(at) === 0 ? 0 : 1;
    case 'i1':
      return view.getInt8(at);
    case 'u2':
      return view.getUint16(at, true);
    case 'i2':
      return view.getInt16(at, true);
    case 'u4':
      return view.getUint32(at, true);
    case 'i4':
      return view.getInt32(at, true);
    case 'u8':
      return Number(view.getBigUint64(at, true));
    case 'i8':
      return Number(view.getBigInt64(at, true));
    case 'f2':
      return halfOf(view.getUint16(at, true));
    case 'f4':
      return finite(view.getFloat32(at, true));
    case 'f8':
      return finite(view.getFloat64(at, true));
  }
}

/** @returns what stands there, where `value` is not that number but the nearest of float64 */
function roundedAt(view: DataView, at: number, type: ElementType, value: number): bigint | null {
  if ((type !== 'u8' && type !== 'i8') || Number.isSafeInteger(value)) return null;
  const whole = type === 'u8' ? view.getBigUint64(at, true) : view.getBigInt64(at, true);
  return BigInt(value) === whole ? null : whole;
}

/** Infinity is a missing number, as NaN is: nothing can be said of it. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : NaN;
}

/** IEEE 754 binary16. */
function halfOf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 === 0 ? 1 : -1;
  if (exponent === 31) return NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

/** Whole rows out of chunks of any size. */
class ByteRows {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private rest: Uint8Array = new Uint8Array(0);

  constructor(
    chunks: AsyncIterable<Uint8Array>,
    private readonly rowBytes: number,
    private readonly file: string,
  ) {
    this.chunks = chunks[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(count * this.rowBytes);
    for (let at = 0; at < bytes.length;) {
      if (this.rest.length === 0) {
        const next = await this.chunks.next();
        if (next.done === true) {
          refuseData(
            'DATA_TRUNCATED',
            { file: this.file },
            {
              expected: 'as many bytes as its header says',
              got: 'fewer',
              action: 'get the file again',
            },
          );
        }
        this.rest = next.value;
      }
      const part = this.rest.subarray(0, bytes.length - at);
      bytes.set(part, at);
      at += part.length;
      this.rest = this.rest.subarray(part.length);
    }
    return bytes;
  }

  async close(): Promise<void> {
    await this.chunks.return?.();
  }
}
