/** What a cell of a table means: missing, a number, or a name. */
import { refuseData, type Place } from './errors.js';
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

const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** @returns the finite number that a cell is, or null where it is none */
export function numberOf(cell: Cell): number | null {
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : null;
  if (typeof cell !== 'string' || !decimal.test(cell)) return null;
  const value = Number(cell);
  return Number.isFinite(value) ? value : null;
}

/** @throws DataError DATA_NUMBER */
export function needNumber(cell: Cell, place: Place, column: string): number {
  return (
    numberOf(cell) ??
    refuseData(
      'DATA_NUMBER',
      { ...place, column },
      {
        expected: 'a decimal number such as -1.5e3',
        got: textOf(cell),
        action: 'mend the cell, leave it empty, or read the column as a category',
      },
    )
  );
}

/** The name that a cell is, for categories and classes. */
export function textOf(cell: Cell): string {
  if (typeof cell === 'string') return cell.trim();
  return typeof cell === 'number' ? String(cell) : cell === null ? 'nothing' : `${cell.length} numbers`;
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
