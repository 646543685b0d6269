/** The header of a data set from what was chosen and what its training rows hold. */
import { parseDataHeader, type Column, type DataHeader } from '#libs/step';
import type { Chosen, ChosenColumn } from './choose.js';
import { refuseChoice, refuseData } from './errors.js';
import { spelledMissing } from './look.js';
import type { DataSource, TensorType } from './source.js';
import type { Statistics } from './statistics.js';

interface Measured {
  readonly chosen: Chosen;
  readonly source: DataSource;
  /** Of the training rows; features first, then labels. */
  readonly statistics: readonly Statistics[];
  /** For each label its values in all rows, in their order. */
  readonly labelValues: readonly (readonly string[])[];
  readonly split: DataHeader['split'];
}

/** @throws ConfigurationError DATA_CHOICE, DATA_LABEL; DataError DATA_COLUMN_TWICE; Rejection HEADER_* where the data is too large for a header */
export function headerOf({ chosen, source, statistics, labelValues, split }: Measured): DataHeader {
  const tensorOf = (column: ChosenColumn): TensorType | null => source.columns[column.index]!.tensor;
  const columns = chosen.features.flatMap((column, index) =>
    featureColumns(column, statistics[index]!, tensorOf(column)),
  );
  checkGapNames(columns, chosen, source.file);
  return parseDataHeader({
    layout: 2,
    features: featuresOf(chosen, columns, statistics, source),
    label: labelOf(chosen, statistics.slice(chosen.features.length), labelValues),
    ...{ columns, split },
    tokenizer: source.tokenizer === undefined ? null : { name: source.tokenizer.name, sha256: source.tokenizer.sha256 },
  });
}

function featureColumns({ name, kind }: ChosenColumn, found: Statistics, tensor: TensorType | null): Column[] {
  const length = tensor?.shape.reduce((product, side) => product * side, 1) ?? 1;
  const count = length > 1 ? { count: length } : {};
  switch (kind) {
    case 'number': {
      const column: Column = { name, kind, center: found.center, scale: found.scale, ...count };
      return found.missing > 0 ? [column, { name: `${name}?`, kind: 'missing' }] : [column];
    }
    case 'category':
      if (found.values.length === 0) refuseChoice('DATA_CHOICE', `a value in column "${name}"`, 'none', 'drop it');
      return [{ name, kind, values: found.values }];
    case 'flag':
      return [{ name, kind, values: twoOf(name, found.values) }];
    case 'integer':
      return [{ name, kind, ...count }];
    case 'image':
      return [{ name, kind, fit: tensor?.fit ?? 'exact' }];
    case 'tokens':
      return [{ name, kind: 'text' }];
  }
}

/** What says that a number is missing is a column with a name of its own. */
function checkGapNames(columns: readonly Column[], { features }: Chosen, file: string): void {
  const names = new Set(features.map(({ name }) => name));
  const gap = columns.find(({ name, kind }) => kind === 'missing' && names.has(name));
  if (gap === undefined) return;
  const expected = `another name: "${gap.name}" says whether "${gap.name.slice(0, -1)}", which has gaps, is missing`;
  const place = { file, column: gap.name };
  refuseData('DATA_COLUMN_TWICE', place, { expected, got: gap.name, action: 'rename the column, or drop it (--drop)' });
}

function twoOf(name: string, values: readonly string[]): readonly [string, string] {
  const [off, on] = values;
  if (values.length === 2) return [off!, on!];
  return refuseChoice('DATA_CHOICE', `two values in column "${name}"`, values.length, 'read it as a category');
}

function featuresOf(
  { features, frac }: Chosen,
  columns: readonly Column[],
  statistics: readonly Statistics[],
  source: DataSource,
): unknown {
  const only = features.length === 1 ? source.columns[features[0]!.index]!.tensor : null;
  if (only?.kind === 'tokens') return { dtype: 'tokens', shape: [only.shape[0]! - 1], vocab: source.tokenizer!.vocab };
  if (only?.kind === 'image') return { dtype: 'uint8', shape: only.shape, frac: 8 };
  const integers = features.filter(({ kind }) => kind === 'integer').length;
  const shape = only?.shape ?? [columns.reduce((sum, column) => sum + widthOf(column), 0)];
  if (integers === 0) {
    if (frac > 14) refuseChoice('DATA_CHOICE', 'a fraction of at most 14, so that 1 fits 16 bits', frac, 'choose 12');
    return { dtype: 'int16', shape, frac };
  }
  if (integers !== features.length) {
    refuseChoice(
      'DATA_CHOICE',
      'integers in all columns of features or in none',
      `${integers} of ${features.length}`,
      'read them as numbers (--number of model init)',
    );
  }
  return { ...integerType(statistics.slice(0, features.length)), shape };
}

function widthOf(column: Column): number {
  if (column.kind === 'category') return column.values.length;
  return column.kind === 'number' || column.kind === 'integer' ? (column.count ?? 1) : 1;
}

/** The narrowest type for what the training rows hold; bytes are pixels at fraction 8. */
function integerType(statistics: readonly Statistics[]): { dtype: string; frac: number } {
  const least = Math.min(...statistics.map((one) => one.least));
  const most = Math.max(...statistics.map((one) => one.most));
  if (least >= 0 && most <= 255) return { dtype: 'uint8', frac: 8 };
  return { dtype: least >= -(2 ** 15) && most < 2 ** 15 ? 'int16' : 'int32', frac: 0 };
}

function labelOf(
  { labels, task, frac }: Chosen,
  statistics: readonly Statistics[],
  values: readonly (readonly string[])[],
): unknown {
  switch (task) {
    case 'tokens':
      return { kind: 'tokens' };
    case 'class':
      if (values[0]!.length < 2) {
        refuseChoice(
          'DATA_LABEL',
          `two classes in column "${labels[0]!.name}"`,
          values[0]!.join() || 'none',
          spelledMissing(labels[0]!.look) ?? 'choose another label',
        );
      }
      return {
        kind: 'class',
        classes: values[0]!.length,
        columns: [{ name: labels[0]!.name, kind: 'category', values: values[0] }],
      };
    case 'vector': {
      const columns = labels.map(({ name, kind }, index) =>
        kind === 'flag' ? { name, kind, values: twoOf(name, values[index]!) } : { name, kind, values: values[index]! },
      );
      return {
        kind: 'vector',
        count: columns.reduce((sum, column) => sum + (column.kind === 'flag' ? 1 : column.values.length), 0),
        columns,
      };
    }
    case 'real': {
      const columns = labels.map(({ name }, index) => ({
        ...{ name, kind: 'number' },
        ...{ center: statistics[index]!.center, scale: statistics[index]!.scale },
      }));
      return { kind: 'real', count: columns.length, frac, columns };
    }
  }
}
