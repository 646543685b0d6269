/** One cell to the integers of a record, for each kind of column (libs/step/DATA.md §2, §3). */
import type { CategoryColumn, Column, NumberColumn } from '#libs/step';
import { alike, isMissing, nameOf, needNumber, textOf } from './cells.js';
import { refuseData, type Place } from './errors.js';
import type { Cell, Numbers } from './source.js';

/** What happened to the cells of one column. */
export interface ColumnReport {
  readonly name: string;
  /** Cells without a value. */
  missing: number;
  /** Cells with a category that no training row has. */
  unseen: number;
  /** Up to five of these. */
  readonly unseenValues: string[];
  /** Numbers so far from the center that the nearest integer was taken: of 16 bits, of a target 32. */
  clamped: number;
  /** Labels of numbers that are farther out than the 16 bits of an answer reach. */
  beyond: number;
}

/** Integers of one width in a record, little-endian. */
export interface Target {
  readonly size: 1 | 2 | 4;
  readonly low: number;
  readonly high: number;
  put(view: DataView, at: number, value: number): void;
}

/** Where a column's integers go, and what 1 is there. */
export interface Output {
  readonly target: Target;
  readonly frac: number;
  /** A label is never missing or unseen. */
  readonly label: 'class' | 'vector' | 'real' | null;
  /** Integers of the column; of text one more where the label is the next token. */
  readonly width: number;
  readonly vocabulary: number;
}

/** Writes a cell at a byte of memory that is all zero; the place has no column yet. */
export type EncodeCell = (cell: Cell, view: DataView, at: number, place: Place) => void;

export const targets = {
  uint8: { size: 1, low: 0, high: 255, put: (view, at, value) => view.setUint8(at, value) },
  int16: { size: 2, low: -(2 ** 15), high: 2 ** 15 - 1, put: (view, at, value) => view.setInt16(at, value, true) },
  int32: { size: 4, low: -(2 ** 31), high: 2 ** 31 - 1, put: (view, at, value) => view.setInt32(at, value, true) },
  uint16: { size: 2, low: 0, high: 2 ** 16 - 1, put: (view, at, value) => view.setUint16(at, value, true) },
  uint32: { size: 4, low: 0, high: 2 ** 32 - 1, put: (view, at, value) => view.setUint32(at, value, true) },
} as const satisfies Record<string, Target>;

export function cellEncoder(column: Column, output: Output, report: ColumnReport): EncodeCell {
  switch (column.kind) {
    case 'number':
      return numberEncoder(column, output, report);
    case 'missing':
      return (cell, view, at) => {
        if (isMissing(cell)) output.target.put(view, at, 2 ** output.frac);
      };
    case 'category':
    case 'flag':
      return nameEncoder(column, output, report);
    case 'integer':
    case 'image':
      return integerEncoder(column, output);
    case 'text':
      return tokenEncoder(column.name, output);
  }
}

/** `floor((v − center)/scale·2^frac + 1/2)`, not yet clamped. */
function scaled(value: number, { center, scale }: NumberColumn, frac: number): number {
  return Math.floor(((value - center) / scale) * 2 ** frac + 0.5);
}

const answer = targets.int16;

function numberEncoder(column: NumberColumn, { target, frac, label, width }: Output, report: ColumnReport): EncodeCell {
  const isLabel = label === 'real';
  const { low, high } = isLabel ? target : targets.int16;
  const one = (value: number, view: DataView, at: number): void => {
    const q = scaled(value, column, frac);
    if (q < low || q > high) report.clamped += 1;
    if (isLabel && (q < answer.low || q > answer.high)) report.beyond += 1;
    target.put(view, at, Math.min(Math.max(q, low), high));
  };
  return (cell, view, at, place) => {
    if (typeof cell === 'object' && cell !== null) {
      checkLength(cell, width, { ...place, column: column.name });
      for (let i = 0; i < width; i++) {
        if (Number.isNaN(cell[i]!)) report.missing += 1;
        else one(cell[i]!, view, at + i * target.size);
      }
    } else if (isMissing(cell)) {
      if (label !== null) refuseLabel(cell, { ...place, column: column.name });
      report.missing += 1;
    } else one(needNumber(cell, place, column.name), view, at);
  };
}

function nameEncoder(
  column: Pick<CategoryColumn, 'name' | 'values'> & { readonly kind: 'category' | 'flag' },
  { target, frac, label }: Output,
  report: ColumnReport,
): EncodeCell {
  // A header made before may have 1.0 for a value, or 1 and 1.0: its own spelling goes before all others.
  const spellings = [alike, nameOf, (value: string) => value];
  const places = new Map(spellings.flatMap((spelt) => column.values.map((value, index) => [spelt(value), index])));
  const one = label === null ? 2 ** frac : 1;
  return (cell, view, at, place) => {
    // A value may be spelled like a missing one.
    const text = cell === null ? '' : textOf(cell);
    const index = places.get(text) ?? places.get(nameOf(text)) ?? places.get(alike(text));
    if (index === undefined) {
      if (label !== null) refuseLabel(cell, { ...place, column: column.name }, column.values);
      if (isMissing(cell)) report.missing += 1;
      else countUnseen(text, report);
    } else if (label === 'class') target.put(view, at, index);
    else if (column.kind === 'category') target.put(view, at + index * target.size, one);
    else if (index === 1) target.put(view, at, one);
  };
}

function countUnseen(text: string, report: ColumnReport): void {
  report.unseen += 1;
  if (report.unseenValues.length < 5 && !report.unseenValues.includes(text)) report.unseenValues.push(text);
}

function integerEncoder({ kind, name }: Column, { target, width }: Output): EncodeCell {
  const one = (value: number, view: DataView, at: number, place: Place): void => {
    if (!Number.isInteger(value) || value < target.low || value > target.high) {
      refuseData(
        'DATA_RANGE',
        { ...place, column: name },
        {
          expected: `an integer in ${target.low}..${target.high}`,
          got: value,
          action: 'mend the value, or plan anew with the column as a number (--number of model init)',
        },
      );
    }
    target.put(view, at, value);
  };
  return (cell, view, at, place) => {
    if (typeof cell === 'object' && cell !== null) {
      checkLength(cell, width, { ...place, column: name });
      if (target.size === 1 && cell instanceof Uint8Array) {
        new Uint8Array(view.buffer, view.byteOffset + at, width).set(cell);
      } else for (let i = 0; i < width; i++) one(cell[i]!, view, at + i * target.size, place);
    } else if (kind === 'image' || isMissing(cell)) {
      refuseData(
        'DATA_MISSING',
        { ...place, column: name },
        {
          expected: kind === 'image' ? 'a picture' : 'an integer',
          got: textOf(cell),
          action:
            'fill the cell, or plan anew with the column as a number (--number of model init), which may be missing',
        },
      );
    } else one(needNumber(cell, place, name), view, at, place);
  };
}

function tokenEncoder(name: string, { target, width, vocabulary }: Output): EncodeCell {
  return (cell, view, at, row) => {
    const place = { ...row, column: name };
    if (typeof cell !== 'object' || cell === null) {
      refuseData('DATA_SHAPE', place, { expected: 'tokens', got: textOf(cell), action: 'open the file as text' });
    }
    // Where features alone are asked for, the token that follows them is left.
    if (cell.length !== width + 1) checkLength(cell, width, place);
    for (let i = 0; i < width; i++) {
      const token = cell[i]!;
      if (token >= vocabulary) {
        refuseData('DATA_TOKEN', place, {
          expected: `tokens below ${vocabulary}`,
          got: token,
          action: 'use the tokenizer that the header names',
        });
      }
      target.put(view, at + i * target.size, token);
    }
  };
}

function checkLength(cell: Numbers, width: number, place: Place): void {
  if (cell.length === width) return;
  refuseData('DATA_SHAPE', place, {
    expected: `${width} numbers`,
    got: `${cell.length}`,
    action: 'give data of the shape that the header names',
  });
}

function refuseLabel(cell: Cell, place: Place, values?: readonly string[]): never {
  const text = textOf(cell);
  const some = values === undefined ? 'a number' : `one of ${values.slice(0, 10).join(', ')}`;
  return refuseData('DATA_LABEL', place, {
    expected: values !== undefined && values.length > 10 ? `${some} … (${values.length} in all)` : some,
    got: isMissing(cell) ? 'a missing label' : text,
    action: isMissing(cell)
      ? 'fill the label; rows without one can be left out when that is asked for'
      : 'a class that the model does not know: mend the label or leave the row out, or plan and train anew with it',
  });
}
