/** Predictions as rows of a table: the row's number, the picture's file, and the answer in the user's own words. */
import { answers } from '#libs/models';
import { netOf, type DataHeader } from '#libs/step';
import type { Source } from './data.js';
import type { ModelFolder } from './folder.js';

/** By column. */
export type Prediction = Readonly<Record<string, string | number>>;

interface PredictionTable {
  /** `row` is the first; of pictures `file` the second. */
  readonly columns: readonly string[];
  /** What `row` counts, in words. */
  readonly counted: string;
  /** What stands before the first row of the file. */
  readonly head: string;
  /** @param number of the row, from 1 @param file of a picture @param output whole numbers of one record */
  cells(number: number, file: string | undefined, output: ArrayLike<number>): readonly string[];
  line(cells: readonly string[]): string;
  prediction(cells: readonly string[]): Prediction;
}

/** @param out path of the table: an object a line for .jsonl and .ndjson, else CSV */
export function predictionTable({ header, manifest }: ModelFolder, source: Source, out: string): PredictionTable {
  const wording = answers(header, netOf(manifest).output, tokenTexts(source));
  const hasFiles = source.kind === 'images';
  const columns = named([...(hasFiles ? ['row', 'file'] : ['row']), ...wording.columns]);
  const isNumber = [true, ...(hasFiles ? [false] : []), ...numericColumns(header, wording.columns)];
  const prediction = (cells: readonly string[]): Prediction =>
    Object.fromEntries(columns.map((name, i) => [name, isNumber[i] === true ? Number(cells[i]) : cells[i]!]));
  const isLines = /\.(jsonl|ndjson)$/i.test(out);
  return {
    ...{ columns, counted: countedIn(source), head: isLines ? '' : `${csvLine(columns)}\n`, prediction },
    cells: (number, file, output) => [String(number), ...(hasFiles ? [file ?? ''] : []), ...wording.of(output)],
    line: (cells) => `${isLines ? JSON.stringify(prediction(cells)) : csvLine(cells)}\n`,
  };
}

/** A label may have the name of a column before it. */
function named(columns: readonly string[]): readonly string[] {
  return columns.map((name, index) => (columns.indexOf(name) === index ? name : `${name} (${index + 1})`));
}

/** Of an answer: real labels, probabilities (of several labels behind all of these), and the number of a token. */
function numericColumns({ label }: DataHeader, columns: readonly string[]): readonly boolean[] {
  return columns.map((name, index) => {
    if (label.kind === 'class') return index === columns.length - 1;
    if (label.kind === 'vector') return index >= columns.length / 2;
    return label.kind === 'real' || (label.kind === 'tokens' && name !== 'text');
  });
}

/** A token is decoded once. */
function tokenTexts({ tokenizer }: Source): ((token: number) => string) | undefined {
  if (tokenizer === undefined) return undefined;
  const known = new Map<number, string>();
  return (token) => {
    const text = known.get(token) ?? tokenizer.decode([token]);
    known.set(token, text);
    return text;
  };
}

function countedIn({ kind, file, hasNames, columns }: Source): string {
  switch (kind) {
    case 'images':
      return `pictures of ${file} from 1`;
    case 'text':
      return `records of ${columns[0]!.tensor!.shape[0]! - 1} tokens of ${file} from 1; the next token follows each`;
    case 'csv':
    case 'tsv': {
      const passed = [
        ...(hasNames === false ? [] : ['the line of names']),
        ...(columns.length === 1 ? [] : ['blank lines']),
      ];
      return `rows of ${file} from 1${passed.length === 0 ? '' : `, without ${passed.join(' and ')}`}`;
    }
    case 'jsonl':
      return `objects of ${file} from 1, without blank lines`;
    case 'parquet':
    case 'npy':
    case 'npz':
    case 'idx':
      return `rows of ${file} from 1`;
  }
}

/** RFC 4180; a cell that a spreadsheet would run gets a quote mark before it. */
function csvLine(cells: readonly string[]): string {
  return cells
    .map((cell) => {
      const safe = /^[=+@\t\r]|^-(?![\d.])/.test(cell) ? `'${cell}` : cell;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    })
    .join(',');
}
