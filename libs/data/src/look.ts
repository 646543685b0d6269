/** What is in a source, before anybody decides how to read it: one pass over its rows, in bounded memory. */
import { isMissing, nameOf, numberOf, sortValues, textOf } from './cells.js';
import { nameLengthMax } from '#libs/step';
import * as limits from './limits.js';
import type { Cell, DataSource, SourceColumn, TensorType, Watch } from './source.js';

type Guess = 'number' | 'category' | 'text' | TensorType['kind'];

export interface ColumnLook {
  readonly name: string;
  readonly guess: Guess;
  /** Sides of a cell of several numbers; null: one text or number. */
  readonly shape: readonly number[] | null;
  readonly missing: number;
  /** The first missing cell that is not empty but says so, such as NA; null where there is none. */
  readonly firstMissing: { readonly row: number; readonly text: string } | null;
  /** Cells that are numbers, and whether all of these are whole. */
  readonly numbers: number;
  readonly isWhole: boolean;
  /** The first cell that is neither missing nor a number; null where there is none. */
  readonly firstText: { readonly row: number; readonly text: string } | null;
  /** Of the numbers; null where there is none. */
  readonly least: number | null;
  readonly most: number | null;
  readonly mean: number | null;
  /** Different values; `isMore`: there are more than were kept. */
  readonly distinct: number;
  readonly isMore: boolean;
  /** How often each value occurs, where they are few: classes in their order. */
  readonly counts: readonly { readonly value: string; readonly rows: number }[];
}

export interface Look {
  readonly kind: DataSource['kind'];
  readonly file: string;
  readonly rows: number;
  readonly columns: readonly ColumnLook[];
  readonly notes: readonly string[];
}

const countsShown = 100;
/** A column of texts has categories when values repeat: at most so many different ones for every row. */
const categoryShare = 0.5;

/** Of a column of classes or categories, one of which may be called as a missing value is. */
export function spelledMissing({ name, firstMissing }: ColumnLook): string | null {
  if (firstMissing === null) return null;
  const { text, row } = firstMissing;
  return `"${text}" in row ${row} of column "${name}" counts as missing: where it is a value, spell it otherwise, such as "${text}." or in words`;
}

/** @param dropped names of columns that are not looked into @throws DataError DATA_* of the source */
export async function look(source: DataSource, watch: Watch = {}, dropped: readonly string[] = []): Promise<Look> {
  const kept = Math.max(256, Math.floor(limits.valuesMax / source.columns.length));
  const columns = source.columns.map((column) => new Tally(column, kept));
  let rows = 0;
  const isDropped = new Set(dropped);
  const wanted = source.columns.map(({ name }) => !isDropped.has(name));
  for await (const batch of source.rows(undefined, wanted)) {
    watch.signal?.throwIfAborted();
    batch.rows.forEach((row, index) => {
      for (let c = 0; c < columns.length; c++) columns[c]!.add(row[c]!, batch.first + index);
    });
    rows += batch.rows.length;
    watch.onProgress?.({ stage: 'look', done: batch.next.byte, of: source.bytes, unit: source.unit ?? 'bytes' });
  }
  return {
    ...{ kind: source.kind, file: source.file, rows },
    columns: columns.map((tally) => tally.result(rows)),
    notes: source.notes(),
  };
}

class Tally {
  private missing = 0;
  private numbers = 0;
  private isWhole = true;
  private least = Infinity;
  private most = -Infinity;
  private mean = 0;
  private isMore = false;
  private firstText: ColumnLook['firstText'] = null;
  private firstMissing: ColumnLook['firstMissing'] = null;
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly column: SourceColumn,
    private readonly kept: number,
  ) {}

  add(cell: Cell, row: number): void {
    if (typeof cell === 'object' && cell !== null) return;
    if (isMissing(cell)) {
      this.missing += 1;
      if (typeof cell === 'string' && textOf(cell) !== '' && this.firstMissing === null) {
        this.firstMissing = { row, text: textOf(cell) };
      }
      return;
    }
    const value = numberOf(cell);
    if (value !== null) this.addNumber(value);
    else this.firstText ??= { row, text: textOf(cell) };
    if (!this.isMore) this.addText(nameOf(cell));
  }

  private addText(text: string): void {
    const before = this.counts.get(text);
    if (before !== undefined) this.counts.set(text, before + 1);
    else if (this.counts.size < this.kept && text.length <= nameLengthMax) this.counts.set(text, 1);
    else this.isMore = true;
  }

  private addNumber(value: number): void {
    this.numbers += 1;
    if (!Number.isInteger(value)) this.isWhole = false;
    if (value < this.least) this.least = value;
    if (value > this.most) this.most = value;
    this.mean += (value - this.mean) / this.numbers;
  }

  result(rows: number): ColumnLook {
    const { column, missing, numbers, counts } = this;
    const hasNumbers = numbers > 0;
    return {
      ...{ name: column.name, guess: this.guess(rows), shape: column.tensor?.shape ?? null },
      ...{
        missing,
        firstMissing: this.firstMissing,
        numbers,
        isWhole: hasNumbers && this.isWhole,
        firstText: this.firstText,
      },
      ...{ least: hasNumbers ? this.least : null, most: hasNumbers ? this.most : null },
      ...{ mean: hasNumbers ? this.mean : null, distinct: counts.size, isMore: this.isMore },
      counts:
        this.isMore || counts.size > countsShown
          ? []
          : sortValues(counts.keys()).map((value) => ({ value, rows: counts.get(value)! })),
    };
  }

  private guess(rows: number): Guess {
    if (this.column.tensor !== null) return this.column.tensor.kind;
    const there = rows - this.missing;
    if (this.numbers === there) return 'number';
    const isRepeated = this.counts.size <= Math.max(2, there * categoryShare);
    return !this.isMore && isRepeated ? 'category' : 'text';
  }
}
