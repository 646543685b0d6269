/** Reader of JSON lines: an object a line, whose members are columns. */
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { optionValue, refuseData, wholeNumber, type Place } from '../errors.js';
import * as limits from '../limits.js';
import { start, type Cell, type DataSource } from '../source.js';
import { namesSpelled, numbersSpelled } from './json-spelling.js';
import { linesOf } from './lines.js';

/** @throws DataError DATA_JSON, DATA_CELL, DATA_EMPTY, DATA_ENCODING, DATA_LIMIT, DATA_COLUMN_TWICE, DATA_COLUMN_UNKNOWN */
export async function openJsonl(path: string): Promise<DataSource> {
  const { size, mtimeMs } = await stat(path);
  const file = basename(path);
  const names = await namesOf(path, file);
  const known = new Set(names);
  let blank = 0;
  return {
    ...{ kind: 'jsonl', file, bytes: size, columns: names.map((name) => ({ name, tensor: null })) },
    fingerprint: `${path} ${size} ${mtimeMs}`,
    notes: () => (blank === 0 ? [] : [`${blank} blank lines were passed over`]),
    async *rows(from = start, wanted) {
      blank = from.counted?.[0] ?? 0;
      let row = from.row;
      for await (const { lines, byte } of linesOf(path, file, from.byte, from.row + 1)) {
        const whole = lines.filter((line) => line.trim() !== '');
        blank += lines.length - whole.length;
        const rows = whole.map((line, index) => {
          const object = objectOf(line, { file, row: row + index + 1 });
          for (const name of Object.keys(object)) {
            if (!known.has(name)) refuseUnknown(name, { file, row: row + index + 1 });
          }
          return names.map((name, column) => {
            const value = memberOf(object, name);
            const isRead = wanted?.[column] !== false;
            if (!isRead) return null;
            const place = { file, row: row + index + 1, column: name };
            if (isLarge(value)) checkExact(value, line, place);
            return cellOf(value, place);
          });
        });
        if (rows.length > 0) yield { rows, first: row + 1, next: { row: row + rows.length, byte, counted: [blank] } };
        row += rows.length;
      }
    },
  };
}

/** Members of the lines of the first chunk, in the order in which they come. */
async function namesOf(path: string, file: string): Promise<readonly string[]> {
  const names = new Set<string>();
  for await (const { lines } of linesOf(path, file, 0, 1)) {
    for (const [index, line] of lines.entries()) {
      if (line.trim() === '') continue;
      for (const name of Object.keys(objectOf(line, { file, row: index + 1 }))) names.add(name);
    }
    if (names.size > 0) break;
  }
  if (names.size > 0 && names.size <= limits.tableColumnsMax) return [...names];
  return refuseData(
    'DATA_EMPTY',
    { file },
    {
      expected: `objects with 1 to ${limits.tableColumnsMax} members`,
      got: names.size,
      action: 'give a file with an object a line',
    },
  );
}

export function objectOf(line: string, place: Place): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    checkNames(value, line, place);
    return value as Record<string, unknown>;
  }
  return refuseData('DATA_JSON', place, { expected: 'a JSON object on the line', got: line, action: 'mend the line' });
}

/** Of two members of one name the parser keeps the last. */
function checkNames(object: object, line: string, place: Place): void {
  const names = namesSpelled(line);
  if (names.length === Object.keys(object).length) return;
  const column = names.find((name, index) => names.indexOf(name) !== index)!;
  const detail = { expected: 'every name once', got: column, action: 'leave one of them out, or rename it' };
  refuseData('DATA_COLUMN_TWICE', { ...place, column }, detail);
}

/** undefined where the line has none: a member may be called as a method of every object is. */
export function memberOf(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isLarge(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** The parser has rounded the value already: what stood on the line tells. */
function checkExact(value: number, line: string, place: Place): void {
  const rounded = numbersSpelled(line).find(
    (token) => /^-?\d+$/.test(token) && Number(token) === value && BigInt(token) !== BigInt(value),
  );
  if (rounded === undefined) return;
  refuseData('DATA_CELL', place, {
    expected: wholeNumber,
    got: rounded,
    action: `write it as text: "${rounded.slice(0, 40)}"`,
  });
}

/** What is nested stays text, which no column of numbers or categories is made of by chance. */
function cellOf(value: unknown, place: Place): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number') return value;
  try {
    return JSON.stringify(value);
  } catch {
    const action = `drop the column (--drop ${optionValue(place.column!)}), or nest less in it`;
    return refuseData('DATA_CELL', place, { expected: 'a value of fewer levels', got: 'thousands of them', action });
  }
}

function refuseUnknown(name: string, place: Place): never {
  return refuseData(
    'DATA_COLUMN_UNKNOWN',
    { ...place, column: name },
    {
      expected: 'members that the first lines have',
      got: name,
      action: 'give the first line every member, null where it is missing',
    },
  );
}
