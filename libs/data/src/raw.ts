/**
 * Rows between reading and encoding, on disk: cells of a fixed length, so that statistics and the shuffle can go over
 * them again without parsing. Numbers are float64, names a place in the column's dictionary.
 */
import { isMissing, nameOf, needNumber, textOf } from './cells.js';
import type { ChosenColumn } from './choose.js';
import { refuseData, type Place } from './errors.js';
import * as limits from './limits.js';
import { nameLengthMax } from '#libs/step';
import type { Cell, Numbers, SourceColumn, TensorType } from './source.js';

const nothing = 0xffffffff;

const arrays = {
  uint8: Uint8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  float64: Float64Array,
} as const satisfies Record<TensorType['dtype'], unknown>;

interface Field {
  readonly name: string;
  /** Place in the rows of the source. */
  readonly index: number;
  readonly kind: 'number' | 'name' | 'tensor';
  readonly isInteger: boolean;
  readonly tensor: TensorType | null;
  readonly bytes: number;
  readonly dictionary: Dictionary | null;
}

/** Different values of a column in the order in which they first came. */
class Dictionary {
  readonly values: string[] = [];
  private readonly places = new Map<string, number>();

  constructor(values: readonly string[] = []) {
    for (const value of values) this.place(value);
  }

  place(value: string): number {
    const found = this.places.get(value);
    if (found !== undefined) return found;
    this.places.set(value, this.values.length);
    return this.values.push(value) - 1;
  }
}

/** The columns in their order, features first, and where each stands in a raw row. */
export class RawRows {
  readonly rowBytes: number;
  private readonly fields: readonly Field[];

  constructor(
    columns: readonly ChosenColumn[],
    source: readonly SourceColumn[],
    known?: readonly (readonly string[])[],
  ) {
    this.fields = columns.map(({ name, index, kind }, place) => {
      const { tensor } = source[index]!;
      const isName = kind === 'category' || kind === 'flag';
      const length = tensor === null ? 1 : tensor.shape.reduce((product, side) => product * side, 1);
      const size = tensor === null ? (isName ? 4 : 8) : arrays[tensor.dtype].BYTES_PER_ELEMENT;
      const dictionary = isName ? new Dictionary(known?.[place]) : null;
      return {
        ...{ name, index, tensor, dictionary, bytes: length * size, isInteger: kind === 'integer' },
        kind: tensor !== null ? 'tensor' : isName ? 'name' : 'number',
      };
    });
    this.rowBytes = this.fields.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** For each column its values so far; empty where it has none. */
  dictionaries(): readonly (readonly string[])[] {
    return this.fields.map(({ dictionary }) => dictionary?.values ?? []);
  }

  /** @throws DataError DATA_NUMBER, DATA_LIMIT, DATA_CELL */
  write(row: readonly Cell[], view: DataView, at: number, place: Place): void {
    let offset = at;
    for (const field of this.fields) {
      const cell = row[field.index]!;
      if (field.kind === 'number') {
        view.setFloat64(offset, numberIn(cell, field, place), true);
      } else if (field.kind === 'name') {
        view.setUint32(offset, isMissing(cell) ? nothing : placeOfName(cell, field, place), true);
      } else {
        const bytes = cell as Numbers;
        new Uint8Array(view.buffer, view.byteOffset + offset, field.bytes).set(
          new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        );
      }
      offset += field.bytes;
    }
  }

  /** Cells of the row at a byte of `bytes`, in the order of the columns; tensors are copies. */
  read(bytes: Uint8Array, at: number): Cell[] {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let offset = at;
    return this.fields.map((field) => {
      const from = offset;
      offset += field.bytes;
      if (field.kind === 'number') {
        const value = view.getFloat64(from, true);
        return Number.isNaN(value) ? null : value;
      }
      if (field.kind === 'name') {
        const place = view.getUint32(from, true);
        return place === nothing ? null : field.dictionary!.values[place]!;
      }
      return new arrays[field.tensor!.dtype](bytes.slice(from, offset).buffer);
    });
  }
}

/** NaN: missing. */
function numberIn(cell: Cell, { name, isInteger }: Field, place: Place): number {
  const value = isMissing(cell) ? NaN : needNumber(cell, place, name);
  if (!isInteger || (Number.isInteger(value) && Math.abs(value) < 2 ** 31)) return value;
  return refuseData(
    'DATA_RANGE',
    { ...place, column: name },
    {
      expected: 'an integer of 32 bits',
      got: textOf(cell),
      action: 'mend the cell, or read the column as a number (--number of model init), which may be missing or broken',
    },
  );
}

function placeOfName(cell: Cell, { name, dictionary }: Field, place: Place): number {
  const text = nameOf(cell);
  if (text.length > nameLengthMax) {
    refuseData(
      'DATA_LIMIT',
      { ...place, column: name },
      {
        expected: `a category of at most ${nameLengthMax} characters`,
        got: `${text.length} characters`,
        action: 'drop the column or shorten its values',
      },
    );
  }
  if (/\p{Surrogate}/u.test(text)) {
    refuseData(
      'DATA_CELL',
      { ...place, column: name },
      { expected: 'a category that UTF-8 holds', got: JSON.stringify(text), action: 'mend the half of a character' },
    );
  }
  const found = dictionary!.place(text);
  if (found < limits.categoriesMax) return found;
  return refuseData(
    'DATA_LIMIT',
    { ...place, column: name },
    {
      expected: `at most ${limits.categoriesMax} categories`,
      got: text,
      action: 'drop the column, or group its values',
    },
  );
}
