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
/** That name every double. */
const doubleDigits = 17;

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
          return Array.from(own, (value, i) => numberText(value, unit * Math.abs(units?.scale[i] ?? 1)));
        },
      };
    }
    case 'vector': {
      const parts = vectorParts(label.columns, label.count);
      return {
        columns: [...parts.map(({ name }) => name), ...parts.map(({ odds }) => `${odds} probability`)],
        of: (output) => {
          const found = parts.map((part) => part.of(output));
          const shares = found.map(({ value }) => (1 / (1 + Math.exp(-value * unit))).toFixed(digits));
          return [...found.map(({ text }) => text), ...shares];
        },
      };
    }
  }
}

/** With as many digits as tell it to within a twentieth of `step`, by which the net's answers differ. */
function numberText(value: number, step: number): string {
  const places = Math.ceil(Math.log10(Math.abs(value) / step)) + 2;
  return String(Number(value.toPrecision(Math.min(doubleDigits, Math.max(digits + 2, places)))));
}

function namesOf(columns: Columns, count: number): readonly string[] {
  return columns.length > 0 ? columns.map(({ name }) => name) : Array.from({ length: count }, (_, i) => `label ${i}`);
}

interface VectorPart {
  readonly name: string;
  /** What its probability is of. */
  readonly odds: string;
  /** The answer, and the whole number that its probability is made of. */
  of(output: ArrayLike<number>): { readonly text: string; readonly value: number };
}

/** A flag by its sign; a category by the largest of its places. */
function vectorParts(columns: Columns, count: number): readonly VectorPart[] {
  if (columns.length === 0) return namesOf(columns, count).map((name, place) => flagPart(name, ['0', '1'], place));
  let at = 0;
  return columns.map((column): VectorPart => {
    const from = at;
    const { name } = column;
    if (column.kind !== 'category') {
      at += 1;
      return flagPart(name, column.kind === 'flag' ? column.values : ['0', '1'], from);
    }
    const { values } = column;
    at += values.length;
    return {
      ...{ name, odds: name },
      of: (output) => {
        const { index } = largest(output, from, values.length, 1);
        return { text: values[index]!, value: output[from + index]! };
      },
    };
  });
}

/** Its probability is that of the second value, whichever is the answer. */
function flagPart(name: string, [off, on]: readonly string[], place: number): VectorPart {
  const of: VectorPart['of'] = (output) => {
    const value = output[place]!;
    return { text: value > 0 ? on! : off!, value };
  };
  return { name, odds: `${name}=${on}`, of };
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
