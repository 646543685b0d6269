/** What an answer that is always the same would measure on rows: a model that is no better has learned nothing of them. */
import { readFileSync } from 'node:fs';
import { areErrorsClose, areSharesClose, isErrorByChance, readingOf, type Measured } from '#libs/models';
import { netRecordLayout, splitNetRecords, type DataHeader, type NetManifest } from '#libs/step';
import { figure } from './figure.js';

export interface Baseline {
  /** The answer, in words. */
  readonly answer: string;
  /** In the order of the model's own; those alone that a constant answer has. */
  readonly metrics: readonly Pick<Measured, 'name' | 'value' | 'unit'>[];
  /** Classes that none of the rows has: how the model does on them nobody knows. */
  readonly absent: readonly string[];
}

/** Records read in one go. */
const chunkRows = 4_096;

/** Of records in a file, as an import leaves them. */
export function baselineOf(
  m: NetManifest,
  header: DataHeader,
  { path, count }: { readonly path: string; readonly count: number },
): Baseline {
  const bytes = readFileSync(path);
  const { recordBytes } = netRecordLayout(m);
  const constant = new ConstantAnswer(header);
  for (let first = 0; first < count; first += chunkRows) {
    const end = Math.min(count, first + chunkRows);
    constant.add(splitNetRecords(m, bytes.subarray(first * recordBytes, end * recordBytes)).labels);
  }
  return constant.result();
}

/**
 * Of numbers the center of the header, which a record has as 0: the mean of the rows that the header was made from, which
 * need not be those trained on; of classes and tokens the commonest of the rows.
 */
export class ConstantAnswer {
  private count = 0;
  private squares = 0;
  private distances = 0;
  /** Rows by class or token; of a vector those of each place that are 1. */
  private readonly rows = new Map<number, number>();

  constructor(private readonly header: Pick<DataHeader, 'label'>) {}

  add(labels: ArrayLike<number>): void {
    const { label } = this.header;
    const places = label.kind === 'vector' ? label.count : 1;
    this.count += labels.length;
    for (let i = 0; i < labels.length; i++) {
      const value = labels[i]!;
      this.squares += value * value;
      this.distances += Math.abs(value);
      if (label.kind === 'vector') this.see(i % places, value);
      else if (label.kind !== 'real') this.see(value, 1);
    }
  }

  private see(key: number, rows: number): void {
    this.rows.set(key, (this.rows.get(key) ?? 0) + rows);
  }

  result(): Baseline {
    const { label } = this.header;
    switch (label.kind) {
      case 'real':
        return {
          answer: centerWords(label),
          metrics: [this.measured('sse', this.squares), this.measured('sae', this.distances)],
          absent: [],
        };
      case 'vector': {
        const perPlace = this.count / label.count;
        const right = [...this.rows.values()].reduce((sum, ones) => sum + Math.max(ones, perPlace - ones), 0);
        const answer = 'the commonest value of each label alone';
        return { answer, metrics: [this.measured('label-accuracy', right)], absent: [] };
      }
      case 'class': {
        const [column] = label.columns;
        const names =
          column?.kind === 'category' ? column.values : Array.from({ length: label.classes }, (_, i) => `${i}`);
        const [commonest, right] = this.commonest();
        return {
          answer: `"${names[commonest]}" alone`,
          metrics: [this.measured('accuracy', right)],
          absent: names.filter((_, index) => !this.rows.has(index)),
        };
      }
      case 'tokens': {
        const [, right] = this.commonest();
        return { answer: 'the commonest token alone', metrics: [this.measured('accuracy', right)], absent: [] };
      }
    }
  }

  private commonest(): readonly [key: number, rows: number] {
    return [...this.rows].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0]);
  }

  private measured(metric: string, sum: number): Baseline['metrics'][number] {
    const { name, value, unit } = readingOf(this.header, {
      metric,
      numerator: BigInt(Math.round(sum)),
      denominator: BigInt(this.count),
    });
    return { name, value, ...(unit !== undefined && { unit }) };
  }
}

function centerWords({ columns: [column, ...others] }: Extract<DataHeader['label'], { kind: 'real' }>): string {
  if (column?.kind !== 'number' || others.length > 0) return 'the center of each label alone';
  return `the number on which the label is centered, ${Number(column.center.toPrecision(5))}, alone`;
}

interface Worse {
  readonly name: string;
  readonly value: number;
  readonly constant: number;
}

/** The first metric that the constant answer has, where a model's is clearly worse: a larger error, a smaller share. */
export function worseThan(
  { label }: Pick<DataHeader, 'label'>,
  { metrics: [constant] }: Baseline,
  own: readonly Pick<Measured, 'name' | 'value' | 'scale' | 'denominator'>[],
): Worse | undefined {
  const found = own.find(({ name }) => name === constant?.name);
  if (constant === undefined || found === undefined) return undefined;
  const { name, value, scale, denominator } = found;
  // Labels of one row are right and wrong together: a row counts once.
  const rows = Number(denominator) / ('count' in label ? label.count : 1);
  const isWorse =
    label.kind === 'real'
      ? !areErrorsClose(constant.value, value, scale, label.frac) && !isErrorByChance(constant.value, value, rows)
      : value < constant.value && !areSharesClose(constant.value, value, rows);
  return isWorse ? { name, value, constant: constant.value } : undefined;
}

/** As lines of a table. */
export function baselineLines({ answer, metrics, absent }: Baseline): (readonly [string, string])[] {
  const figures = metrics.map(({ name, value }) => `${name} ${figure(value)}`);
  const unit = metrics[0]?.unit;
  const some = `${absent.slice(0, 5).join(', ')}${absent.length > 5 ? ` … (${absent.length} in all)` : ''}`;
  return [
    ['baseline', `${answer} would be ${figures.join(', ')}${unit === undefined ? '' : `, in units of ${unit}`}`],
    ...(absent.length === 0 ? [] : [['note', `none of the rows that are measured has the class ${some}`] as const]),
  ];
}
