/** Reads a source once and keeps its rows on disk (raw.ts), so that an interrupted reading goes on where it was. */
import { open, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './cells.js';
import type { Chosen } from './choose.js';
import { refuseData } from './errors.js';
import * as limits from './limits.js';
import { RawRows } from './raw.js';
import { start, type Cell, type DataSource, type Mark, type Watch } from './source.js';

/** What of the sources is on disk; kept beside the rows. */
interface Kept {
  readonly key: string;
  /** Rows of each source that are on disk. */
  readonly rows: readonly number[];
  /** Rows without a label that were left out. */
  readonly dropped: number;
  readonly dictionaries: readonly (readonly string[])[];
  readonly notes: readonly string[];
  /** Where to go on; null: all has been read. */
  readonly at: { readonly source: number; readonly mark: Mark } | null;
}

export interface Staged {
  readonly raw: RawRows;
  /** Rows of each source, in order. */
  readonly rows: readonly number[];
  readonly dropped: number;
  readonly notes: readonly string[];
  /** All rows in order, some at a time; `bytes` is used again for the next. */
  read(): AsyncIterable<{ readonly first: number; readonly count: number; readonly bytes: Uint8Array }>;
}

const keepEveryBytes = 32 * 1024 * 1024;

/**
 * @param key changes whenever other sources or choices are meant, and what is on disk is then read anew
 * @throws DataError DATA_* of the sources, DATA_LABEL, DATA_NUMBER, DATA_LIMIT
 */
export async function stage(
  folder: string,
  key: string,
  sources: readonly DataSource[],
  chosen: Chosen,
  watch: Watch,
): Promise<Staged> {
  const begun = await readKept(folder, key);
  const columns = [...chosen.features, ...chosen.labels];
  const raw = new RawRows(columns, sources[0]!.columns, begun?.dictionaries);
  // It speaks of rows of other choices, which the next line takes away.
  if (begun === null) await rm(keptPath(folder), { force: true });
  const file = await open(join(folder, 'raw.bin'), begun === null ? 'w+' : 'r+');
  try {
    const kept = await new Stager(folder, key, sources, chosen, raw, file, watch).run(begun);
    const { rows, dropped, notes } = kept;
    return { raw, rows, dropped, notes, read: () => readRaw(folder, raw.rowBytes) };
  } finally {
    await file.close();
  }
}

function keptPath(folder: string): string {
  return join(folder, 'reading.json');
}

async function readKept(folder: string, key: string): Promise<Kept | null> {
  try {
    const kept = JSON.parse(await readFile(keptPath(folder), 'utf8')) as Kept;
    return kept.key === key ? kept : null;
  } catch {
    return null;
  }
}

class Stager {
  private readonly rows: number[];
  private dropped = 0;
  private notes: string[] = [];
  private readonly buffer: Uint8Array;
  private readonly view: DataView;
  private used = 0;
  private written = 0;
  private keptAt = 0;

  constructor(
    private readonly folder: string,
    private readonly key: string,
    private readonly sources: readonly DataSource[],
    private readonly chosen: Chosen,
    private readonly raw: RawRows,
    private readonly file: FileHandle,
    private readonly watch: Watch,
  ) {
    this.rows = sources.map(() => 0);
    this.buffer = new Uint8Array(Math.max(limits.batchBytes, raw.rowBytes));
    this.view = new DataView(this.buffer.buffer);
  }

  async run(begun: Kept | null): Promise<Kept> {
    if (begun !== null) {
      begun.rows.forEach((rows, index) => (this.rows[index] = rows));
      this.dropped = begun.dropped;
      this.notes = [...begun.notes];
      this.written = begun.rows.reduce((sum, rows) => sum + rows, 0) * this.raw.rowBytes;
      this.keptAt = this.written;
      if (begun.at === null) return begun;
    }
    const from = begun?.at ?? { source: 0, mark: start };
    for (let index = from.source; index < this.sources.length; index++) {
      await this.readSource(index, index === from.source ? from.mark : start);
      this.notes.push(...this.sources[index]!.notes().map((note) => `${this.sources[index]!.file}: ${note}`));
    }
    return this.keep(null);
  }

  private async readSource(index: number, from: Mark): Promise<void> {
    const source = this.sources[index]!;
    const chosen = new Set([...this.chosen.features, ...this.chosen.labels].map((column) => column.index));
    const wanted = source.columns.map((_, place) => chosen.has(place));
    for await (const { rows, first, next } of source.rows(from, wanted)) {
      this.watch.signal?.throwIfAborted();
      for (const [offset, row] of rows.entries()) {
        const place = { file: source.file, row: first + offset };
        if (!this.hasLabel(row, place)) continue;
        if (this.used + this.raw.rowBytes > this.buffer.length) await this.flush();
        this.add(row, place, index);
      }
      this.watch.onProgress?.({ stage: 'read', done: next.byte, of: source.bytes, unit: source.unit ?? 'bytes' });
      if (this.written + this.used - this.keptAt > keepEveryBytes) await this.keep({ source: index, mark: next });
    }
  }

  private hasLabel(row: readonly Cell[], place: { file: string; row: number }): boolean {
    const label = this.chosen.labels.find(({ index }) => isMissing(row[index]));
    if (label === undefined) return true;
    if (this.chosen.missingLabel === 'refuse') {
      refuseData(
        'DATA_LABEL',
        { ...place, column: label.name },
        {
          expected: 'a label',
          got: 'a missing one',
          action: 'fill the cell, or ask that rows without a label are dropped',
        },
      );
    }
    this.dropped += 1;
    return false;
  }

  private add(row: readonly Cell[], place: { file: string; row: number }, source: number): void {
    this.raw.write(row, this.view, this.used, place);
    this.used += this.raw.rowBytes;
    this.rows[source]! += 1;
    if (this.written + this.used > limits.dataBytesMax) {
      refuseData('DATA_LIMIT', place, {
        expected: `at most ${limits.dataBytesMax} bytes of records`,
        got: 'more',
        action: 'use fewer rows or columns',
      });
    }
  }

  private async flush(): Promise<void> {
    await writeAll(this.file, this.buffer.subarray(0, this.used), this.written);
    this.written += this.used;
    this.used = 0;
  }

  /** Writes the rows first: what is said to be on disk is. */
  private async keep(at: Kept['at']): Promise<Kept> {
    await this.flush();
    await this.file.datasync();
    this.keptAt = this.written;
    const { key, rows, dropped, notes } = this;
    const kept: Kept = { key, rows: [...rows], dropped, notes, dictionaries: this.raw.dictionaries(), at };
    const path = keptPath(this.folder);
    await writeFile(`${path}.new`, JSON.stringify(kept));
    await rename(`${path}.new`, path);
    return kept;
  }
}

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

async function* readRaw(folder: string, rowBytes: number): ReturnType<Staged['read']> {
  const file = await open(join(folder, 'raw.bin'));
  try {
    yield* wholeRows(file, rowBytes, (await file.stat()).size);
  } finally {
    await file.close();
  }
}

/** Whole rows of a file, about `batchBytes` at a time; the memory is used again. */
export async function* wholeRows(
  file: FileHandle,
  rowBytes: number,
  size: number,
  from = 0,
): AsyncIterable<{ readonly first: number; readonly count: number; readonly bytes: Uint8Array }> {
  const perRead = Math.max(1, Math.floor(limits.batchBytes / rowBytes));
  const buffer = new Uint8Array(perRead * rowBytes);
  const rows = Math.floor(size / rowBytes);
  for (let first = from; first < rows; first += perRead) {
    const count = Math.min(perRead, rows - first);
    const bytes = buffer.subarray(0, count * rowBytes);
    await readAll(file, bytes, first * rowBytes);
    yield { first, count, bytes };
  }
}

/** @throws DataError DATA_TRUNCATED when the file is shorter than it was */
export async function readAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, position + done);
    if (bytesRead === 0) {
      refuseData(
        'DATA_TRUNCATED',
        { file: 'the working folder' },
        {
          expected: `${bytes.length} bytes at ${position}`,
          got: `${done}`,
          action: 'delete the working folder and import again',
        },
      );
    }
    done += bytesRead;
  }
}
