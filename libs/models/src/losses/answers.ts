/** Outputs of a net in the user's own words: names of classes, values in their units (libs/step/DATA.md). */
import type { DataHeader, Net } from '#libs/step';
import { inOwnUnits, realOutputs } from '../units.js';

interface Answers {
  readonly columns: readonly string[];
  /** @param output whole numbers of one record @returns a text for each column */
  of(output: ArrayLike<number>): readonly string[];
}

type Columns = Exclude<DataHeader['label'], { kind: 'tokens' }>['columns'];

const digits = 6;

/** @param edge the net's output @param textOf text of a token; absent: its number alone is told */
export function answers(
  { label }: Pick<DataHeader, 'label'>,
  { a, shape }: Pick<Net['output'], 'a' | 'shape'>,
  textOf?: (token: number) => string,
): Answers {
  const unit = 2 ** -a;
  switch (label.kind) {
    case 'class': {
      const [column] = label.columns;
      const nameOf = (index: number): string => (column?.kind === 'category' ? column.values[index]! : String(index));
      return {
        columns: [column?.name ?? 'class', 'probability'],
        of: (output) => {
          const { index, probability } = largest(output, 0, output.length, unit);
          return [nameOf(index), probability.toFixed(digits)];
        },
      };
    }
    case 'tokens': {
      const vocab = shape.at(-1)!;
      return {
        columns: ['next token', ...(textOf === undefined ? [] : ['text']), 'probability'],
        of: (output) => {
          const { index, probability } = largest(output, output.length - vocab, vocab, unit);
          return [String(index), ...(textOf === undefined ? [] : [textOf(index)]), probability.toFixed(digits)];
        },
      };
    }
    case 'real': {
      const units = realOutputs({ label });
      return {
        columns: namesOf(label.columns, label.count),
        of: (output) => {
          const own = inOwnUnits(
            Float64Array.from(output, (value) => value * unit),
            units,
          );
          return Array.from(own, (value) => String(Number(value.toPrecision(digits + 2))));
        },
      };
    }
    case 'vector':
      return { columns: namesOf(label.columns, label.count), of: (output) => vectorWords(label.columns, output) };
  }
}

function namesOf(columns: Columns, count: number): readonly string[] {
  return columns.length > 0 ? columns.map(({ name }) => name) : Array.from({ length: count }, (_, i) => `label ${i}`);
}

/** A flag by its sign; a category by the largest of its places. */
function vectorWords(columns: Columns, output: ArrayLike<number>): readonly string[] {
  if (columns.length === 0) return Array.from(output, (value) => (value > 0 ? '1' : '0'));
  let at = 0;
  return columns.map((column) => {
    const from = at;
    if (column.kind === 'category') {
      at += column.values.length;
      return column.values[largest(output, from, column.values.length, 1).index]!;
    }
    at += 1;
    const isOn = output[from]! > 0;
    return column.kind === 'flag' ? column.values[isOn ? 1 : 0] : isOn ? '1' : '0';
  });
}

/** Of equal ones the first; its share of the exponentials. */
function largest(
  output: ArrayLike<number>,
  from: number,
  count: number,
  unit: number,
): { readonly index: number; readonly probability: number } {
  let index = 0;
  for (let i = 1; i < count; i++) if (output[from + i]! > output[from + index]!) index = i;
  let sum = 0;
  for (let i = 0; i < count; i++) sum += Math.exp((output[from + i]! - output[from + index]!) * unit);
  return { index, probability: 1 / sum };
}
