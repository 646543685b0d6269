/** Records of a data set in a file: what is sealed, shard by shard, from wherever that stopped. */
import { open } from 'node:fs/promises';
import { wholeRows } from './stage.js';

export interface RecordSet {
  readonly path: string;
  readonly count: number;
  readonly recordBytes: number;
  /** Whole records from record `from` on, about a MiB at a time; the memory is used again for the next. */
  records(from?: number): AsyncIterable<{ readonly first: number; readonly count: number; readonly bytes: Uint8Array }>;
}

export function recordSet(path: string, count: number, recordBytes: number): RecordSet {
  return {
    ...{ path, count, recordBytes },
    async *records(from = 0) {
      const file = await open(path);
      try {
        yield* wholeRows(file, recordBytes, count * recordBytes, from);
      } finally {
        await file.close();
      }
    },
  };
}
