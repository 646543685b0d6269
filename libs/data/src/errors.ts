/** How libs/data refuses: what a file says wrong is a DataError that names file, row and column. */
import { ConfigurationError, Rejection } from '#attestation/base';

export interface Place {
  readonly file: string;
  /** From 1; a table's line of names is not counted. */
  readonly row?: number;
  readonly column?: string;
}

const rule = 'libs/data/SPEC.md';

/** What a source holds cannot be used; the place is part of the text and of the JSON. */
class DataError extends Rejection {
  constructor(
    code: `DATA_${string}`,
    readonly place: Place,
    expected: string,
    got: string,
    action: string,
  ) {
    super(code, { expected: `${expected} ${placeText(place)}`, got, rule, action });
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), ...this.place };
  }
}

/** @throws DataError always */
export function refuseData(
  code: `DATA_${string}`,
  place: Place,
  { expected, got, action }: { readonly expected: string; readonly got: unknown; readonly action: string },
): never {
  throw new DataError(code, place, expected, shortened(got), action);
}

/** What was asked for cannot be done with this source. @throws ConfigurationError always */
export function refuseChoice(code: `DATA_${string}`, expected: string, got: unknown, action: string): never {
  throw new ConfigurationError(code, { expected, got: shortened(got), rule, action });
}

/** Where a source has no row. */
export const emptyAction = 'give a file with rows; a first line of a table is taken for the names of its columns';

/** What is expected of integers, which are read as numbers: another would be rounded without a word. */
export const wholeNumber = 'a whole number that float64 holds, as all up to 2^53 are,';

/** A column's name as an option takes it. */
export function optionValue(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
}

function placeText({ file, row, column }: Place): string {
  const parts = [
    ...(column === undefined ? [] : [`in column "${shortened(column)}"`]),
    ...(row === undefined ? [] : [`in row ${row}`]),
  ];
  return [...parts, `of ${file}`].join(' ');
}

/** Bounded: what came may be as long as its sender liked. */
function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : String(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
