/** Rows to records by a header: the same for the owner's data set and for what a model is asked. */
import { columnWidth, recordLayout, type Column, type DataHeader, type RecordLayout } from '#libs/step';
import { cellEncoder, targets, type ColumnReport, type EncodeCell, type Output, type Target } from './encode-cell.js';
import type { Place } from './errors.js';
import type { Cell } from './source.js';

interface Step {
  /** Place of the cell in a row, and of its integers in the record. */
  readonly input: number;
  readonly at: number;
  readonly encode: EncodeCell;
}

export class RowEncoder {
  readonly layout: RecordLayout;
  /** Bytes that `encode` fills: a record, or its features. */
  readonly bytes: number;
  /** One for each column, missing ones aside, counted on by `encode`. */
  readonly reports: readonly ColumnReport[];
  private readonly steps: readonly Step[];

  /**
   * @param inputs for each column of the header, then of its label, the place of its cell in a row
   * @param hasLabel false: features alone, of rows whose label nobody knows
   */
  constructor(header: DataHeader, inputs: readonly number[], hasLabel: boolean) {
    this.layout = recordLayout(header);
    this.bytes = hasLabel ? this.layout.recordBytes : this.layout.featureBytes;
    const { features, label } = header;
    const steps: Step[] = [];
    const reports: ColumnReport[] = [];
    const add = (columns: readonly Column[], begin: number, output: (column: Column) => Output): void => {
      let at = begin;
      for (const column of columns) {
        const known = reports.at(-1);
        const report = column.kind === 'missing' ? known! : newReport(column.name);
        if (column.kind !== 'missing') reports.push(report);
        const { width, target } = output(column);
        const encode = cellEncoder(column, output(column), report);
        steps.push({ input: inputs[steps.length]!, at, encode });
        at += width * target.size;
      }
    };
    const isNextToken = hasLabel && label.kind === 'tokens';
    const count = this.layout.features + (isNextToken ? 1 : 0);
    add(header.columns, 0, (column) => ({
      target: featureTarget(header, this.layout),
      frac: features.dtype === 'tokens' ? 0 : features.frac,
      label: null,
      width: columnWidth(column) ?? count,
      vocabulary: features.dtype === 'tokens' ? features.vocab : 0,
    }));
    if (hasLabel && label.kind !== 'tokens') {
      add(label.columns, this.layout.featureBytes, (column) => ({
        target: labelTarget(label),
        frac: label.kind === 'real' ? label.frac : 0,
        label: label.kind,
        width: label.kind === 'class' ? 1 : columnWidth(column)!,
        vocabulary: 0,
      }));
    }
    this.steps = steps;
    this.reports = reports;
  }

  /**
   * Writes a record at a byte of `out`.
   *
   * @throws DataError DATA_NUMBER, DATA_LABEL, DATA_RANGE, DATA_SHAPE, DATA_MISSING, DATA_TOKEN
   */
  encode(row: readonly Cell[], out: Uint8Array, at: number, place: Place): void {
    out.fill(0, at, at + this.bytes);
    const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
    for (const step of this.steps) step.encode(row[step.input]!, view, at + step.at, place);
  }
}

function newReport(name: string): ColumnReport {
  return { name, missing: 0, unseen: 0, unseenValues: [], clamped: 0, beyond: 0 };
}

function featureTarget({ features }: DataHeader, { featureSize }: RecordLayout): Target {
  if (features.dtype !== 'tokens') return targets[features.dtype];
  return featureSize === 2 ? targets.uint16 : targets.uint32;
}

function labelTarget(label: Exclude<DataHeader['label'], { kind: 'tokens' }>): Target {
  if (label.kind === 'real') return targets.int32;
  return label.kind === 'class' && label.classes > 256 ? targets.uint16 : targets.uint8;
}
