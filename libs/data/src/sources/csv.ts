/** Reader of CSV and TSV: RFC 4180 with `,` `;` `|` or tab, UTF-8, one line of names unless there is none. */
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CsvError, Parser } from 'csv-parse';
import { refuseChoice, refuseData } from '../errors.js';
import * as limits from '../limits.js';
import { start, type DataSource, type Mark, type RowBatch } from '../source.js';

export interface CsvOptions {
  /** Default: found in the first line; a tab for `.tsv`. */
  readonly delimiter?: string;
  /** false: there is no line of names, columns are c1, c2, … */
  readonly hasNames?: boolean;
}

const delimiters = [',', ';', '\t', '|'];
const chunkBytes = 64 * 1024;

/** @throws DataError DATA_CSV, DATA_EMPTY, DATA_ENCODING, DATA_LIMIT, DATA_COLUMN_TWICE; ConfigurationError DATA_CHOICE */
export async function openCsv(path: string, kind: 'csv' | 'tsv', options: CsvOptions = {}): Promise<DataSource> {
  const { size, mtimeMs } = await stat(path);
  const file = basename(path);
  const lead = await leadOf(path, file);
  const delimiter = options.delimiter ?? lead.delimiter ?? (kind === 'tsv' ? '\t' : await findDelimiter(path));
  if (!delimiters.includes(delimiter)) {
    refuseChoice('DATA_CHOICE', `a delimiter of ${JSON.stringify(delimiters)}`, delimiter, 'choose one of these');
  }
  const hasNames = options.hasNames ?? true;
  const first = await firstRow(path, file, delimiter, hasNames, lead.byte);
  const names = hasNames
    ? first.row.map((name, index) => name.trim() || `c${index + 1}`)
    : placeNames(first.row.length);
  checkNames(names, file);
  const dataStart = hasNames ? first.byte : lead.byte;
  let blank = 0;
  return {
    ...{ kind, file, hasNames, bytes: size, columns: names.map((name) => ({ name, tensor: null })) },
    fingerprint: `${path} ${size} ${mtimeMs} ${delimiter} ${hasNames}`,
    notes: () => (blank === 0 ? [] : [`${blank} blank lines were passed over`]),
    async *rows(from = start) {
      blank = from.counted?.[0] ?? 0;
      const begin = from.row === 0 ? { row: 0, byte: dataStart } : from;
      const at = { ...begin };
      for await (const { rows, byte } of parsed(path, file, delimiter, begin)) {
        const whole = names.length === 1 ? rows : rows.filter((row) => row.length > 1 || row[0] !== '');
        blank += rows.length - whole.length;
        for (const batch of batches(whole, names, file, at, byte)) {
          yield { ...batch, next: { ...batch.next, counted: [blank] } };
        }
      }
    },
  };
}

/** Cuts what one chunk of the file gave; moves `at` on. */
function* batches(
  rows: readonly string[][],
  names: readonly string[],
  file: string,
  at: { row: number; byte: number },
  byte: number,
): Iterable<RowBatch> {
  if (rows.length === 0) return;
  const first = at.row + 1;
  rows.forEach((row, index) => checkRow(row, names, { file, row: first + index }));
  at.row += rows.length;
  at.byte = byte;
  if (at.row > limits.rowsMax) {
    refuseData(
      'DATA_LIMIT',
      { file },
      {
        expected: `at most ${limits.rowsMax} rows`,
        got: at.row,
        action: 'use fewer rows',
      },
    );
  }
  yield { rows, first, next: { row: at.row, byte } };
}

function checkRow(row: readonly string[], names: readonly string[], place: { file: string; row: number }): void {
  if (row.length !== names.length) {
    refuseData('DATA_ROW_WIDTH', place, {
      expected: `${names.length} cells`,
      got: `${row.length} cells`,
      action: 'mend the row; a cell with the delimiter or a line break inside belongs in double quotes',
    });
  }
  for (let index = 0; index < row.length; index++) {
    const cell = row[index]!;
    const isWrong = cell.includes('\ufffd');
    if (!isWrong && cell.length <= limits.cellCharactersMax) continue;
    const at = { ...place, column: names[index]! };
    if (isWrong) refuseEncoding(at);
    refuseData('DATA_LIMIT', at, {
      expected: `at most ${limits.cellCharactersMax} characters`,
      got: cell.length,
      action: 'shorten the cell or drop the column',
    });
  }
}

function refuseEncoding(place: { file: string; row?: number; column?: string }): never {
  return refuseData('DATA_ENCODING', place, {
    expected: 'UTF-8 text',
    got: 'bytes that are none',
    action: 'save the file as UTF-8',
  });
}

interface Lead {
  /** Behind it. */
  readonly byte: number;
  readonly delimiter?: string;
}

/** What spreadsheets write before the table: `sep=;`. UTF-16, which they call "Unicode text", is known by its mark. */
async function leadOf(path: string, file: string): Promise<Lead> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    const mark = buffer.toString('hex', 0, 2);
    if (mark !== 'fffe' && mark !== 'feff') {
      const [line, delimiter] = /^\ufeff?sep=([,;\t|])\r?\n/.exec(buffer.toString('utf8', 0, bytesRead)) ?? [];
      return delimiter === undefined ? { byte: 0 } : { byte: Buffer.byteLength(line!), delimiter };
    }
    return refuseData(
      'DATA_ENCODING',
      { file },
      { expected: 'UTF-8 text', got: 'UTF-16', action: 'save the file as UTF-8' },
    );
  } finally {
    await handle.close();
  }
}

function checkNames(names: readonly string[], file: string): void {
  if (names.length > limits.tableColumnsMax) {
    refuseData(
      'DATA_LIMIT',
      { file },
      {
        expected: `at most ${limits.tableColumnsMax} columns`,
        got: names.length,
        action: 'use fewer columns',
      },
    );
  }
  const seen = new Set<string>();
  for (const name of names) {
    if (name.includes('\ufffd')) refuseEncoding({ file });
    if (seen.has(name)) {
      refuseData(
        'DATA_COLUMN_TWICE',
        { file, column: name },
        {
          expected: 'every name once',
          got: name,
          action: 'rename one of them in the first line, or say that the file has no line of names (--no-names)',
        },
      );
    }
    seen.add(name);
  }
}

function placeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `c${index + 1}`);
}

/** Takes rows where the parser pushes them, and knows after which byte each one ends. */
class RowParser extends Parser {
  rows: string[][] = [];
  /** Behind the first row, and behind the last. */
  firstByte: number | null = null;
  byte = 0;

  override push(row: string[] | null): boolean {
    if (row !== null) {
      this.rows.push(row);
      this.byte = this.info.bytes;
      this.firstByte ??= this.byte;
    }
    return true;
  }

  feed(chunk: Uint8Array | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(error) : resolve());
      if (chunk === null) this.end(done);
      else this.write(chunk, done);
    });
  }

  taken(): string[][] {
    const rows = this.rows;
    this.rows = [];
    return rows;
  }
}

interface Parsed {
  readonly rows: string[][];
  readonly byte: number;
  readonly firstByte: number;
}

async function* parsed(path: string, file: string, delimiter: string, from: Mark): AsyncIterable<Parsed> {
  const parser = new RowParser({
    ...{ delimiter, bom: from.byte === 0, relax_column_count: true },
    max_record_size: limits.rowCharactersMax,
  });
  // Who feeds it hears of the error.
  parser.on('error', () => undefined);
  let count = from.row;
  const taken = (): Parsed => {
    const rows = parser.taken();
    count += rows.length;
    return { rows, byte: from.byte + parser.byte, firstByte: from.byte + (parser.firstByte ?? 0) };
  };
  const handle = await open(path);
  try {
    for (let at = from.byte; ;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      await parser.feed(buffer.subarray(0, bytesRead));
      const got = taken();
      if (at - got.byte > limits.rowCharactersMax) refuseLong({ file, row: Math.max(1, count + 1) }, at - got.byte);
      yield got;
    }
    await parser.feed(null);
    yield taken();
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    refuseCsv(error, { file, row: Math.max(1, count + parser.rows.length + 1) });
  } finally {
    parser.destroy();
    await handle.close();
  }
}

/** The parser's own bound is on texts of cells: a row of empty ones has none. */
function refuseLong(place: { file: string; row: number }, got: number): never {
  const action = 'break the row: a line break ends it, outside of double quotes';
  const expected = `rows of at most ${limits.rowCharactersMax} bytes`;
  return refuseData('DATA_LIMIT', place, { expected, got, action });
}

function refuseCsv(error: CsvError, place: { file: string; row: number }): never {
  const isLong = error.code === 'CSV_MAX_RECORD_SIZE';
  return refuseData(isLong ? 'DATA_LIMIT' : 'DATA_CSV', place, {
    expected: isLong ? `at most ${limits.rowCharactersMax} characters` : 'cells as RFC 4180 has them',
    got: error.message,
    action: 'look for a double quote that is not closed, or not doubled inside a quoted cell',
  });
}

/** The first row, and the byte behind it. */
async function firstRow(
  path: string,
  file: string,
  delimiter: string,
  hasNames: boolean,
  byte: number,
): Promise<{ row: string[]; byte: number }> {
  const from = { row: hasNames ? -1 : 0, byte };
  for await (const { rows, firstByte } of parsed(path, file, delimiter, from)) {
    if (rows[0] !== undefined) return { row: rows[0], byte: firstByte };
  }
  return refuseData(
    'DATA_EMPTY',
    { file },
    {
      expected: 'at least one row',
      got: 'an empty file',
      action: 'give a file with rows',
    },
  );
}

/** The delimiter that the first line has most often outside of quotes. */
async function findDelimiter(path: string): Promise<string> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, 0);
    const text = buffer.toString('utf8', 0, bytesRead).replace(/"[^"]*"/g, '');
    const line = text.split(/[\r\n]/, 1)[0]!;
    const counts = delimiters.map((delimiter) => line.split(delimiter).length);
    return delimiters[counts.indexOf(Math.max(...counts))]!;
  } finally {
    await handle.close();
  }
}
