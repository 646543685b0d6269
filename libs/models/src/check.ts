/** Compares a file with the net that was made of it, on records. */
import { sizeOf } from './onnx/constant.js';
import { inOwnUnits } from './units.js';
import type { ImportedModel } from './onnx/import.js';
import { ended, flagFrom } from './onnx/ops/index.js';

interface Batch {
  readonly count: number;
  /** Integer features or tokens of `count` records, in the net's order. */
  readonly features: ArrayLike<number>;
  /** The same in the user's own numbers, as the data has them, for a file that takes these; absent: made of `features`. */
  readonly own?: ArrayLike<number>;
}

interface CheckedRun {
  readonly batches: Iterable<Batch> | AsyncIterable<Batch>;
  /** Fraction of the features; 0 for tokens. */
  readonly fraction: number;
  readonly answer: AnswerKind;
  /** The file's output for one batch of its input, float32 by another runtime. */
  file(input: Float64Array, dims: readonly number[]): Promise<ArrayLike<number>>;
  /** The net's outputs for records, as real numbers in the net's order. */
  net(batch: Batch): Promise<ArrayLike<number>>;
}

/** What a row of outputs says: the largest one's class, a sign for each, or numbers as they are. */
export type AnswerKind = 'class' | 'flags' | 'numbers';

/** What two runs of a model on the same records have in common. */
export interface Agreement {
  readonly records: number;
  /** Largest difference of an output, and the largest output of the float run. */
  readonly largestDifference: number;
  readonly largestOutput: number;
  /** Largest difference as a share of the spread of its label; null where outputs are no numbers. */
  readonly largestShare: number | null;
  /** Rows (records, or places of a record) with the same answer, of how many; null where outputs are numbers. */
  readonly sameAnswers: { readonly same: number; readonly of: number } | null;
}

/** Counts an agreement, output by output. */
export class Comparison {
  #records = 0;
  #difference = 0;
  #output = 0;
  #share = 0;
  #same = 0;
  #rows = 0;

  /**
   * @param width    outputs of one row
   * @param flagFrom a flag is set above it
   * @param spread   of the label, by output; absent: 1, as the data set has it
   */
  constructor(
    private readonly width: number,
    private readonly answer: AnswerKind,
    private readonly flagFrom = 0,
    private readonly spread: ArrayLike<number> = [1],
  ) {}

  /** @param float outputs of `records` records, in the order of `exact` */
  add(records: number, float: ArrayLike<number>, exact: ArrayLike<number>): void {
    this.#records += records;
    for (let i = 0; i < exact.length; i++) {
      const found = Math.abs(float[i]! - exact[i]!);
      const difference = Number.isNaN(found) ? Infinity : found;
      this.#difference = Math.max(this.#difference, difference);
      this.#share = Math.max(this.#share, difference / this.spread[i % this.spread.length]!);
      this.#output = Math.max(this.#output, Math.abs(float[i]!));
    }
    for (let at = 0; at < exact.length; at += this.width) {
      this.#rows++;
      if (this.#isSame(float, exact, at)) this.#same++;
    }
  }

  result(): Agreement {
    return {
      ...{ records: this.#records, largestDifference: this.#difference, largestOutput: this.#output },
      largestShare: this.answer === 'numbers' ? this.#share : null,
      sameAnswers: this.answer === 'numbers' ? null : { same: this.#same, of: this.#rows },
    };
  }

  #isSame(float: ArrayLike<number>, exact: ArrayLike<number>, at: number): boolean {
    const places = Array.from({ length: this.width }, (_, i) => at + i);
    if (this.answer === 'class') return largestOf(float, places) === largestOf(exact, places);
    return places.every((i) => float[i]! > this.flagFrom === exact[i]! > this.flagFrom);
  }
}

/** Of equal ones the first. */
function largestOf(values: ArrayLike<number>, places: readonly number[]): number {
  return places.reduce((best, i) => (values[i]! > values[best]! ? i : best));
}

/** What stands at the end of the file, and its own units, are done to the net's outputs too. */
export async function importCheck({ input, output, end }: ImportedModel, run: CheckedRun): Promise<Agreement> {
  const size = sizeOf(input.shape);
  const outputs = sizeOf(output.shape);
  const classes = output.shape.at(-1) ?? 1;
  const fixed = input.dims[0]!;
  const comparison = new Comparison(classes, run.answer, end === undefined ? 0 : flagFrom(end), output.real?.scale);
  for await (const batch of run.batches) {
    const { count } = batch;
    const step = fixed < 1 ? count : fixed;
    const found = Array.from(await run.net(batch));
    const told = end === undefined ? found : rowsOf(found, classes).flatMap((row) => ended(end, row));
    const exact = inOwnUnits(Float64Array.from(told), output.real);
    for (let first = 0; first < count; first += step) {
      const rows = Math.min(step, count - first);
      const fed = new Float64Array(step * size);
      // A batch of fixed size is filled up with its last record.
      for (let row = 0; row < step; row++) feed(fed, row, batch, first + Math.min(row, rows - 1));
      const wanted = await run.file(fed, [step, ...input.dims.slice(1)]);
      const ordered = Float64Array.from({ length: rows * outputs }, () => NaN);
      for (let i = 0; i < rows * outputs; i++) {
        const place = i % outputs;
        ordered[i - place + (output.order?.[place] ?? place)] = wanted[i]!;
      }
      comparison.add(rows, ordered, exact.slice(first * outputs, (first + rows) * outputs));
    }
  }
  return comparison.result();

  function feed(fed: Float64Array, row: number, { features, own }: Batch, record: number): void {
    for (let i = 0; i < size; i++) {
      const place = input.order?.[i] ?? i;
      const at = record * size + place;
      const value = features[at]! * 2 ** -run.fraction;
      fed[row * size + i] =
        input.real === undefined ? value : (own?.[at] ?? value * input.real.scale[place]! + input.real.center[place]!);
    }
  }
}

function rowsOf(values: readonly number[], width: number): readonly (readonly number[])[] {
  return Array.from({ length: values.length / width }, (_, row) => values.slice(row * width, (row + 1) * width));
}
