/** Reads new data as a header says: for predictions, and for evaluations that need labels too. */
import { columnWidth, type DataHeader } from '#libs/step';
import { isMissing, numbersIn } from './cells.js';
import { RowEncoder } from './encode.js';
import type { ColumnReport } from './encode-cell.js';
import { emptyAction, refuseData } from './errors.js';
import * as limits from './limits.js';
import type { Cell, DataSource, Watch } from './source.js';

interface EncodedBatch {
  /** Number of the first row, from 1. */
  readonly first: number;
  readonly count: number;
  /** Of pictures: path of each within the folder. */
  readonly files?: readonly string[];
  /** Features, or whole records, one after the other. */
  readonly bytes: Uint8Array;
  /**
   * Numbers as the file has them, before `bytes` centers, scales and ends them; NaN where one is missing.
   *
   * @param column place in the header of a column of numbers
   * @param rows of them the first
   */
  numbers(column: number, rows: number): Float64Array;
}

export interface Encoding {
  /** Bytes of each row in `batches`. */
  readonly rowBytes: number;
  /** Columns of the source that the header does not know: they are not read. */
  readonly ignored: readonly string[];
  batches(): AsyncIterable<EncodedBatch>;
  /** Records asked for: rows that were left out because they have no label; complete when all batches have been taken. */
  unlabelled(): number;
  /** Complete when all batches have been taken. */
  report(): readonly ColumnReport[];
}

/**
 * @param want features of rows whose label nobody knows, or records with their labels
 * @throws DataError DATA_COLUMN_MISSING, DATA_TOKENIZER, DATA_IMAGE_SIZE at once; DATA_* naming row and column from `batches`
 */
export function encodeWith(
  header: DataHeader,
  source: DataSource,
  want: 'features' | 'records',
  watch: Watch = {},
): Encoding {
  checkSource(header, source);
  const labels = want === 'features' || header.label.kind === 'tokens' ? [] : header.label.columns;
  const names = header.columns.filter(({ kind }) => kind !== 'missing').map(({ name }) => name);
  const places = placesOf([...names, ...labels.map(({ name }) => name)], labels.length, header, source);
  const read = new Set(places);
  const wanted = source.columns.map((_, index) => read.has(index));
  let last = -1;
  let next = 0;
  const features = header.columns.map(({ kind }) => (kind === 'missing' ? last : (last = places[next++]!)));
  const encoder = new RowEncoder(header, [...features, ...places.slice(next)], want === 'records');
  const labelled = new Labelled(places.slice(names.length), source.file);
  return {
    rowBytes: encoder.bytes,
    ignored: source.columns.filter((_, index) => !wanted[index]).map(({ name }) => name),
    unlabelled: () => labelled.leftOut,
    report: () => encoder.reports,
    async *batches() {
      const most = Math.max(1, Math.floor(limits.batchBytes / encoder.bytes));
      for await (const { rows, first, files } of source.rows(undefined, wanted)) {
        watch.signal?.throwIfAborted();
        for (let from = 0; from < rows.length; from += most) {
          const some = labelled.of(rows.slice(from, from + most));
          if (some.length === 0) continue;
          const bytes = new Uint8Array(some.length * encoder.bytes);
          some.forEach(({ row, at }, index) => {
            encoder.encode(row, bytes, index * encoder.bytes, { file: source.file, row: first + from + at });
          });
          const own = files && { files: some.map(({ at }) => files[from + at]!) };
          const numbers = (column: number, count: number): Float64Array => {
            const cells = some.slice(0, count).map(({ row }) => row[features[column]!]!);
            return numbersIn(cells, columnWidth(header.columns[column]!) ?? 1);
          };
          yield { first: first + from, count: some.length, ...own, bytes, numbers };
        }
      }
      labelled.end();
    },
  };
}

/** Leaves out rows whose label is missing, as an import does where it is asked to. */
class Labelled {
  leftOut = 0;
  private kept = 0;

  /** @param labels places of their cells in a row; none: all rows are kept */
  constructor(
    private readonly labels: readonly number[],
    private readonly file: string,
  ) {}

  of(rows: readonly (readonly Cell[])[]): readonly { readonly row: readonly Cell[]; readonly at: number }[] {
    const all = rows.map((row, at) => ({ row, at }));
    const kept = all.filter(({ row }) => this.labels.every((place) => !isMissing(row[place])));
    this.kept += kept.length;
    this.leftOut += rows.length - kept.length;
    return kept;
  }

  /** @throws DataError DATA_EMPTY where there was no row, or all were left out */
  end(): void {
    if (this.kept > 0) return;
    const detail =
      this.leftOut === 0
        ? { expected: 'a row', got: 'none', action: emptyAction }
        : {
            expected: 'a row with a label',
            got: `${this.leftOut} rows, all without a label`,
            action: 'give rows with a label, or ask for predictions, which need none',
          };
    refuseData('DATA_EMPTY', { file: this.file }, detail);
  }
}

/** @throws DataError DATA_TOKENIZER, DATA_IMAGE_SIZE where texts are cut, or pictures sized, in another way */
export function checkSource(header: DataHeader, source: DataSource): void {
  if (header.tokenizer !== null && header.tokenizer.sha256 !== source.tokenizer?.sha256) {
    refuseData(
      'DATA_TOKENIZER',
      { file: source.file },
      {
        expected: `the tokenizer ${header.tokenizer.name} with SHA-256 ${header.tokenizer.sha256} for the text`,
        got: source.tokenizer?.sha256 ?? `none: it is read as ${source.kind}`,
        action:
          source.tokenizer === undefined
            ? 'give a text: the model has learned from texts, and reads nothing else'
            : "open the text with the model's own tokenizer file",
      },
    );
  }
  checkSides(header, source);
}

function checkSides({ features: { shape } }: DataHeader, { columns, file }: DataSource): void {
  const image = columns.find(({ tensor }) => tensor?.kind === 'image');
  if (image === undefined || shape.length !== 3 || image.tensor!.shape.every((side, index) => side === shape[index]))
    return;
  refuseData(
    'DATA_IMAGE_SIZE',
    { file },
    {
      expected: `pictures of ${shape.join('×')} (height × width × channels), as the model was trained on`,
      got: image.tensor!.shape.join('×'),
      action: 'make them that size, or train with a size to which all are resized (--size of model init)',
    },
  );
}

/**
 * By name; features of a table without names are in the order of the header, which says nothing of where a label stood among
 * them. A text has one column, whatever it is called.
 */
function placesOf(wanted: readonly string[], labels: number, { columns: [first] }: DataHeader, source: DataSource) {
  const index = new Map(source.columns.map(({ name }, place) => [name, place]));
  const missing = wanted.filter((name) => !index.has(name));
  if (missing.length === 0) return wanted.map((name) => index.get(name)!);
  if (first?.kind === 'text' && source.columns.length === 1 && source.columns[0]!.tensor?.kind === 'tokens') return [0];
  const isByPlace = source.hasNames === false && source.columns.length === wanted.length;
  if (isByPlace && labels === 0) return wanted.map((_, place) => place);
  return refuseData(
    'DATA_COLUMN_MISSING',
    { file: source.file },
    {
      expected: `the columns ${wanted.slice(0, 20).join(', ')}`,
      got: `no ${missing.slice(0, 20).join(', ')}`,
      action: isByPlace
        ? 'write these names as the first line, each where its column stands: without names nobody can tell which one is the label'
        : 'add the columns; their order does not matter, and others are ignored',
    },
  );
}
