/** What a cell of a table means: missing, a number, or a name. */
import { optionValue, refuseData, wholeNumber, type Place } from './errors.js';
import type { Cell } from './source.js';

/** Spellings of a missing value, in every column. */
const missing = new Set(['', 'NA', 'N/A', 'NaN', 'nan', 'null', 'NULL']);
/** Code units in front of which no missing value and no blank stands: `!` to `9`. */
const [markFirst, digitLast] = [0x21, 0x39];

export function isMissing(cell: Cell | undefined): cell is null | string {
  if (cell === null) return true;
  if (typeof cell !== 'string') return Number.isNaN(cell);
  const first = cell.charCodeAt(0);
  return !(first >= markFirst && first <= digitLast) && missing.has(cell.trim());
}

/** Of one way to read each digit: with several, a long cell that is none takes time by the square of its length. */
const decimal = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** @returns the finite number that a cell is, or null where it is none */
export function numberOf(cell: Cell): number | null {
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : null;
  if (typeof cell !== 'string' || !decimal.test(cell)) return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** @throws DataError DATA_NUMBER where it is none, or a whole number that float64 would round */
export function needNumber(cell: Cell, place: Place, column: string): number {
  const value = numberOf(cell);
  if (value !== null && !isRounded(cell, value)) return value;
  const [expected, action] =
    value === null
      ? ['a decimal number such as -1.5e3', 'mend the cell, leave it empty, or read the column as a category']
      : [wholeNumber, `mend the cell, drop the column (--drop ${optionValue(column)}), or read it as a category`];
  return refuseData(
    'DATA_NUMBER',
    { ...place, column },
    { expected, got: textOf(cell), action: `${action} (--category of model init)` },
  );
}

/** `width` numbers of each cell, one after the other; NaN where a cell has none. */
export function numbersIn(cells: readonly Cell[], width: number): Float64Array {
  const found = new Float64Array(cells.length * width).fill(NaN);
  cells.forEach((cell, i) => {
    if (typeof cell === 'object' && cell !== null) found.set(cell, i * width);
    else found[i * width] = numberOf(cell) ?? NaN;
  });
  return found;
}

/** As digits alone, so that nobody meant another; a float of any length is rounded as floats are. */
function isRounded(cell: Cell, value: number): boolean {
  if (typeof cell !== 'string' || Math.abs(value) < 2 ** 53) return false;
  return /^\s*[+-]?\d+\s*$/.test(cell) && BigInt(cell) !== BigInt(value);
}

/** What a cell says. */
export function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell.trim();
  return typeof cell === 'number' ? String(cell) : cell === null ? 'nothing' : `${cell.length} numbers`;
}

/** `1.0`, as a table of floats spells the whole number 1. */
const wholeFloat = /^[+-]?\d+\.0*$/;

/** The category or class that a cell is: a whole number is the same with a fraction of zeros and without. */
export function nameOf(cell: Cell): string {
  const text = textOf(cell);
  return wholeFloat.test(text) ? text.slice(0, text.indexOf('.')).replace(/^-(?=0+$)/, '') : text;
}

/**
 * The same for all spellings of a name that nobody tells apart: some file systems keep é as e and a mark, and a boolean is `true`
 * of one program, `True` or `TRUE` of another.
 */
export function alike(name: string): string {
  return /^(?:true|false)$/i.test(name) ? name.toLowerCase() : name.normalize();
}

/** Numbers by size, before texts in the order of their code units. */
export function sortValues(values: Iterable<string>): string[] {
  return [...values].sort((a, b) => {
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== null && y !== null && x !== y) return x - y;
    if ((x === null) !== (y === null)) return x === null ? 1 : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  });
}
