/** Mean, deviation and values of the training rows, from which a header's transforms come. */
import type { ChosenColumn } from './choose.js';
import { sortValues } from './cells.js';
import type { Cell } from './source.js';

export interface Statistics {
  /** Of the numbers; 0 and 1 where there is none or they do not differ. */
  readonly center: number;
  readonly scale: number;
  readonly missing: number;
  readonly isConstant: boolean;
  /** false: its numbers are so large that mean or deviation are none. */
  readonly isMeasured: boolean;
  /** Names in their order. */
  readonly values: readonly string[];
  readonly least: number;
  readonly most: number;
}

/** Distances below `tiny` have squares that float64 does not hold; a power of two in front changes no digit. */
const [tiny, magnified] = [2 ** -450, 2 ** 900];

/** Counts cells of one column. */
export class ColumnStatistics {
  private count = 0;
  private mean = 0;
  /** Sum of squared distances from the mean so far (Welford). */
  private squares = 0;
  /** The same of distances times `magnified`; of use where all are tiny. */
  private magnifiedSquares = 0;
  private missing = 0;
  private least = Infinity;
  private most = -Infinity;
  private readonly values = new Set<string>();

  constructor(private readonly column: ChosenColumn) {}

  add(cell: Cell): void {
    if (cell === null) this.missing += 1;
    else if (typeof cell === 'string') this.values.add(cell);
    else if (typeof cell === 'number') this.addNumber(cell);
    else if (this.column.kind !== 'image' && this.column.kind !== 'tokens') {
      for (const value of cell) if (!Number.isNaN(value)) this.addNumber(value);
    }
  }

  private addNumber(value: number): void {
    this.count += 1;
    const distance = value - this.mean;
    this.mean += distance / this.count;
    this.squares += distance * (value - this.mean);
    this.magnifiedSquares += distance * magnified * ((value - this.mean) * magnified);
    if (value < this.least) this.least = value;
    if (value > this.most) this.most = value;
  }

  private deviation(): number {
    if (this.least === this.most) return 0;
    if (this.most - this.least >= tiny) return Math.sqrt(this.squares / this.count);
    return Math.sqrt(this.magnifiedSquares / this.count) / magnified;
  }

  result(): Statistics {
    const deviation = this.count === 0 ? 0 : this.deviation();
    const isMeasured = Number.isFinite(this.mean) && Number.isFinite(deviation);
    const isUsable = isMeasured && this.least < this.most && deviation > 0;
    return {
      center: Number.isFinite(this.mean) ? this.mean + 0 : 0,
      scale: isUsable ? deviation : 1,
      missing: this.missing,
      isMeasured,
      isConstant: this.count > 0 && !isUsable,
      values: sortValues(this.values),
      ...{ least: this.least, most: this.most },
    };
  }
}
