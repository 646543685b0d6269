/** Reads new data as a header says: for predictions, and for evaluations that need labels too. */
import type { DataHeader } from '#libs/step';
import { RowEncoder } from './encode.js';
import type { ColumnReport } from './encode-cell.js';
import { refuseData } from './errors.js';
import * as limits from './limits.js';
import type { DataSource, Watch } from './source.js';

interface EncodedBatch {
  /** Number of the first row, from 1. */
  readonly first: number;
  readonly count: number;
  /** Features, or whole records, one after the other. */
  readonly bytes: Uint8Array;
}

export interface Encoding {
  /** Bytes of each row in `batches`. */
  readonly rowBytes: number;
  /** Columns of the source that the header does not know: they are not read. */
  readonly ignored: readonly string[];
  batches(): AsyncIterable<EncodedBatch>;
  /** Complete when all batches have been taken. */
  report(): readonly ColumnReport[];
}

/**
 * @param want features of rows whose label nobody knows, or records with their labels
 * @throws DataError DATA_COLUMN_MISSING at once; DATA_* naming row and column from `batches`
 */
export function encodeWith(
  header: DataHeader,
  source: DataSource,
  want: 'features' | 'records',
  watch: Watch = {},
): Encoding {
  if (header.tokenizer !== null && header.tokenizer.sha256 !== source.tokenizer?.sha256) {
    refuseData(
      'DATA_TOKENIZER',
      { file: source.file },
      {
        expected: `the tokenizer ${header.tokenizer.name} with SHA-256 ${header.tokenizer.sha256} for the text`,
        got: source.tokenizer?.sha256 ?? 'none',
        action: "open the text with the model's own tokenizer file",
      },
    );
  }
  const labels = want === 'features' || header.label.kind === 'tokens' ? [] : header.label.columns;
  const names = header.columns.filter(({ kind }) => kind !== 'missing').map(({ name }) => name);
  const wanted = [...names, ...labels.map(({ name }) => name)];
  const places = placesOf(wanted, source);
  let last = -1;
  let next = 0;
  const features = header.columns.map(({ kind }) => (kind === 'missing' ? last : (last = places[next++]!)));
  const encoder = new RowEncoder(header, [...features, ...places.slice(next)], want === 'records');
  return {
    rowBytes: encoder.bytes,
    ignored: source.columns.filter((_, index) => !places.includes(index)).map(({ name }) => name),
    report: () => encoder.reports,
    async *batches() {
      const most = Math.max(1, Math.floor(limits.batchBytes / encoder.bytes));
      for await (const { rows, first } of source.rows()) {
        watch.signal?.throwIfAborted();
        for (let from = 0; from < rows.length; from += most) {
          const some = rows.slice(from, from + most);
          const bytes = new Uint8Array(some.length * encoder.bytes);
          some.forEach((row, index) => {
            encoder.encode(row, bytes, index * encoder.bytes, { file: source.file, row: first + from + index });
          });
          yield { first: first + from, count: some.length, bytes };
        }
      }
    },
  };
}

/** By name; a table without names has its columns in the order of the header. */
function placesOf(wanted: readonly string[], source: DataSource): number[] {
  const index = new Map(source.columns.map(({ name }, place) => [name, place]));
  const missing = wanted.filter((name) => !index.has(name));
  if (missing.length === 0) return wanted.map((name) => index.get(name)!);
  if (source.hasNames === false && source.columns.length === wanted.length) return wanted.map((_, place) => place);
  return refuseData(
    'DATA_COLUMN_MISSING',
    { file: source.file, column: missing[0]! },
    {
      expected: `the columns ${wanted.slice(0, 20).join(', ')}`,
      got: `no ${missing.slice(0, 20).join(', ')}`,
      action: 'add the columns; their order does not matter, and others are ignored',
    },
  );
}
