/**
 * Makes a data set of layout 2 from a source: rows are read once to disk, measured over the training rows alone,
 * encoded by the header that follows, and written in shuffled order. Memory does not grow with the source, four bytes a
 * row aside (eight while the order is drawn).
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalHeader, parseDataHeader, shuffledIndices, type DataHeader } from '#libs/step';
import { checkSource } from './apply.js';
import { columnUses, type ColumnUse } from './columns.js';
import { choose, chooseBy, type Choices, type Chosen, type ChosenColumn } from './choose.js';
import { RowEncoder } from './encode.js';
import type { ColumnReport } from './encode-cell.js';
import { emptyAction, refuseChoice, refuseData } from './errors.js';
import { headerOf } from './header-of.js';
import { look, type Look } from './look.js';
import {
  listed,
  notesOnCells,
  notesOnClasses,
  notesOnColumn,
  notesOnMissing,
  notesOnPixels,
  notesOnUnread,
} from './notes.js';
import { recordSet, type RecordSet } from './record-set.js';
import { ShuffledWriter } from './shuffled.js';
import type { DataSource, Watch } from './source.js';
import { stage, writeAll, type Staged } from './stage.js';
import { ColumnStatistics, type Statistics } from './statistics.js';

/** Of the rows that have a label, where all others are left out. */
export interface Share {
  readonly percent: number;
  /** Rows that it is at least; default 0. */
  readonly least?: number;
}

interface ImportRequest {
  readonly source: DataSource;
  /** Rows of the validation set, the first of the shuffled ones, or their share; or a source of its own. */
  readonly validation: number | Share | DataSource;
  /** Of the shuffle, libs/step/SPEC.md §9: 0x and 64 digits. */
  readonly seed: string;
  readonly choices?: Choices;
  /** Made for other data: these are encoded by it, the split aside, for weights that know no other. */
  readonly by?: DataHeader;
  /** What `look` found in the source; absent: it is read once more for that. */
  readonly seen?: Look;
  /** Working folder; records and header stay in it, and an import that was interrupted goes on from it. */
  readonly folder: string;
}

interface ImportReport {
  readonly rows: number;
  readonly train: number;
  readonly validation: number;
  /** Rows left out because their label is missing. */
  readonly dropped: number;
  readonly droppedColumns: readonly string[];
  readonly columns: readonly ColumnReport[];
  /** All else that a reader should know, in words with counts. */
  readonly notes: readonly string[];
}

export interface ImportedData {
  readonly header: DataHeader;
  readonly train: RecordSet;
  /** null: no row was asked for. */
  readonly validation: RecordSet | null;
  readonly report: ImportReport;
}

/** @throws DataError DATA_* naming file, row and column; ConfigurationError DATA_*; Rejection HEADER_* */
export async function importData(request: ImportRequest, watch: Watch = {}): Promise<ImportedData> {
  const { folder } = request;
  await mkdir(folder, { recursive: true });
  const key = keyOf(request);
  const done = await readDone(folder, key);
  if (done !== null) return done;
  // It speaks of records of other choices, which are written over.
  await rm(donePath(folder), { force: true });
  const { chosen, staged, places, header, notes } = await measured(request, key, watch);
  const encoder = new RowEncoder(header, inputsOf(header, chosen), true);
  const sets = await write(folder, staged, encoder, places, watch);
  const report: ImportReport = {
    rows: places.place.length,
    ...{ train: sets.train.count, validation: sets.validation?.count ?? 0 },
    ...{ dropped: staged.dropped, droppedColumns: chosen.dropped, columns: encoder.reports },
    notes: [...notes, ...notesOnCells(encoder.reports, header, request.by !== undefined)],
  };
  await writeDone(folder, key, header, report);
  return { header, ...sets, report };
}

interface DescribedData extends Pick<ImportReport, 'train' | 'validation' | 'dropped' | 'notes'> {
  readonly header: DataHeader;
  readonly columns: readonly ColumnUse[];
}

/** What `importData` would make of it, without its records. @throws as `importData` */
export async function describeData(request: ImportRequest, watch: Watch = {}): Promise<DescribedData> {
  await mkdir(request.folder, { recursive: true });
  const { chosen, staged, places, header, notes, columns } = await measured(request, keyOf(request), watch);
  const { validation, place } = places;
  const encoder = new RowEncoder(header, inputsOf(header, chosen), true);
  await encodeRows(staged, encoder, place.length, watch);
  const ofCells = notesOnCells(encoder.reports, header, request.by !== undefined);
  const counts = { train: place.length - validation, validation, dropped: staged.dropped };
  return { header, columns, ...counts, notes: [...notes, ...ofCells] };
}

function keyOf({ source, validation, choices = {}, seed, by }: ImportRequest): string {
  const isGiven = isSource(validation);
  const fingerprints = (isGiven ? [validation, source] : [source]).map((one) => one.fingerprint);
  const asked = JSON.stringify([fingerprints, choices, seed, !isGiven && validation, ...(by ? [by] : [])]);
  return createHash('sha256').update(asked).digest('hex');
}

function isSource(validation: ImportRequest['validation']): validation is DataSource {
  return typeof validation === 'object' && 'columns' in validation;
}

async function measured({ source, validation, ...request }: ImportRequest, key: string, watch: Watch) {
  const seen = request.seen ?? (await look(source, watch, request.choices?.drop));
  if (request.by !== undefined) checkSource(request.by, source);
  const chosen = request.by ? chooseBy(request.by, seen, request.choices) : choose(seen, request.choices);
  if (isSource(validation)) checkSameColumns(source, validation, chosen);
  const sources = isSource(validation) ? [validation, source] : [source];
  const staged = await stage(request.folder, key, sources, chosen, watch);
  const places = placesOf(staged, validation, request.seed, source.file);
  const { header, found, notes: ofMeasure } = await measure(staged, chosen, source, places, { by: request.by, watch });
  const ofChoice = [...notesOnPixels(chosen), ...notesOnMissing(chosen)];
  const ofHeader = request.by === undefined ? [] : notesOnUnread(chosen, request.choices);
  const ofClasses = notesOnClasses(header, places.place.length);
  const notes = [...staged.notes, ...ofMeasure, ...ofClasses, ...ofChoice, ...ofHeader];
  return { chosen, staged, places, header, notes, columns: columnUses(chosen, header, found, seen) };
}

interface Places {
  /** For each staged row its place: validation rows first. */
  readonly place: Uint32Array;
  readonly validation: number;
  readonly isGiven: boolean;
}

function placesOf(
  { rows, dropped }: Staged,
  validation: ImportRequest['validation'],
  seed: string,
  file: string,
): Places {
  const isGiven = isSource(validation);
  const before = isGiven ? rows[0]! : 0;
  const count = rows.at(-1)!;
  const held = isGiven ? before : rowsOf(validation, count);
  if (before + count === 0) {
    refuseData(
      'DATA_EMPTY',
      { file },
      {
        expected: 'at least two rows with a label',
        got: dropped === 0 ? 'none' : `${dropped} rows, all without a label`,
        action: emptyAction,
      },
    );
  }
  if (!Number.isSafeInteger(held) || held < 0 || held >= before + count || count === 0) {
    refuseChoice(
      'DATA_CHOICE',
      `0 to ${Math.max(0, count - 1)} validation rows of ${count} with a label in ${file}`,
      held,
      Number.isInteger(held) ? 'choose fewer' : 'say a number of rows, or a share such as 20%',
    );
  }
  const order = shuffledIndices(seed, count);
  const place = new Uint32Array(before + count);
  for (let index = 0; index < before; index++) place[index] = index;
  order.forEach((row, index) => (place[before + row] = before + index));
  return { place, validation: held, isGiven };
}

/**
 * The rows that an import by this seed keeps apart, where no source of their own has them.
 *
 * @returns for each row that has a label, in the order of the source: 1 where it is kept apart
 */
export function keptApart(seed: string, { train, validation }: Pick<ImportReport, 'train' | 'validation'>): Uint8Array {
  const kept = new Uint8Array(train + validation);
  for (const row of shuffledIndices(seed, kept.length).subarray(0, validation)) kept[row] = 1;
  return kept;
}

function rowsOf(validation: number | Share, count: number): number {
  if (typeof validation === 'number') return validation;
  return Math.max(validation.least ?? 0, Math.round((count * validation.percent) / 100));
}

async function measure(
  staged: Staged,
  chosen: Chosen,
  source: DataSource,
  { place, validation, isGiven }: Places,
  { by, watch }: { readonly by: DataHeader | undefined; readonly watch: Watch },
): Promise<{ header: DataHeader; found: readonly Statistics[]; notes: string[] }> {
  const columns = [...chosen.features, ...chosen.labels];
  const training = columns.map((column) => new ColumnStatistics(column));
  // The classes of a label, and the type that holds integers, are those of all rows.
  const all = columns.map((column) => new ColumnStatistics(column));
  const isOfAll = columns.map(({ kind }, index) => kind === 'integer' || index >= chosen.features.length);
  for await (const { first, count, bytes } of staged.read()) {
    watch.signal?.throwIfAborted();
    for (let row = 0; row < count; row++) {
      const cells = staged.raw.read(bytes, row * staged.raw.rowBytes);
      const isTraining = place[first + row]! >= validation;
      for (let c = 0; c < cells.length; c++) {
        if (isTraining) training[c]!.add(cells[c]!);
        if (isOfAll[c]) all[c]!.add(cells[c]!);
      }
    }
    watch.onProgress?.({ stage: 'measure', done: first + count, of: place.length, unit: 'rows' });
  }
  const found = training.map((one, index) => spreadOf(one.result(), columns[index]!, source.file));
  const ofAll = all.map((one) => one.result());
  const split = isGiven ? ('given' as const) : { train: place.length - validation, validation };
  const header = by
    ? parseDataHeader({ ...by, split })
    : headerOf({
        ...{ chosen, source, split },
        statistics: found.map((one, index) => (columns[index]!.kind === 'integer' ? ofAll[index]! : one)),
        labelValues: ofAll.slice(chosen.features.length).map(({ values }) => values),
      });
  const unseen = chosen.labels.flatMap(({ name }, index) => {
    const known = new Set(found[chosen.features.length + index]!.values);
    const values = ofAll[chosen.features.length + index]!.values.filter((value) => !known.has(value));
    return values.length === 0 ? [] : [`no training row has the label ${listed(values)} of column "${name}"`];
  });
  const notes = [...chosen.features.flatMap((column, index) => notesOnColumn(column, found[index]!)), ...unseen];
  return { header, found, notes };
}

/** @throws DataError DATA_RANGE where mean or deviation leave float64 */
function spreadOf(found: Statistics, { name }: ChosenColumn, file: string): Statistics {
  const { least, most, isMeasured } = found;
  if (isMeasured) return found;
  return refuseData(
    'DATA_RANGE',
    { file, column: name },
    {
      expected: 'numbers whose mean and deviation are numbers, below about 1e150',
      got: `${least} to ${most}`,
      action: 'mend or empty the cells that are too large, or drop the column (--drop)',
    },
  );
}

/** For each column of the header, then of its label, where its cell stands among the staged ones. */
function inputsOf(header: DataHeader, chosen: Chosen): number[] {
  const names = [...chosen.features, ...chosen.labels].map(({ name }) => name);
  const labels = header.label.kind === 'tokens' ? [] : header.label.columns;
  let last = -1;
  const features = header.columns.map(({ name, kind }) => (kind === 'missing' ? last : (last = names.indexOf(name))));
  return [...features, ...labels.map((_, index) => chosen.features.length + index)];
}

async function write(
  folder: string,
  staged: Staged,
  encoder: RowEncoder,
  { place, validation }: Places,
  watch: Watch,
): Promise<Pick<ImportedData, 'train' | 'validation'>> {
  const writer = await ShuffledWriter.open(join(folder, 'buckets.bin'), encoder.bytes, place.length);
  try {
    await encodeRows(staged, encoder, place.length, watch, (record, row) => writer.add(record, place[row]!));
    await writeOrdered(folder, writer, encoder.bytes, validation, place.length, watch);
  } finally {
    await writer.close();
  }
  return setsOf(folder, encoder.bytes, validation, place.length);
}

/** @param take a record, whose bytes are used again for the next; absent: cells are counted alone */
async function encodeRows(
  staged: Staged,
  encoder: RowEncoder,
  of: number,
  watch: Watch,
  take?: (record: Uint8Array, row: number) => Promise<void> | null,
): Promise<void> {
  const record = new Uint8Array(encoder.bytes);
  for await (const { first, count, bytes } of staged.read()) {
    watch.signal?.throwIfAborted();
    for (let row = 0; row < count; row++) {
      const cells = staged.raw.read(bytes, row * staged.raw.rowBytes);
      encoder.encode(cells, record, 0, { file: 'the rows read', row: first + row + 1 });
      const taken = take?.(record, first + row) ?? null;
      if (taken !== null) await taken;
    }
    watch.onProgress?.({ stage: 'encode', done: first + count, of, unit: 'rows' });
  }
}

async function writeOrdered(
  folder: string,
  writer: ShuffledWriter,
  recordBytes: number,
  validation: number,
  count: number,
  watch: Watch,
): Promise<void> {
  const held = await open(join(folder, 'validation.records'), 'w');
  const train = await open(join(folder, 'train.records'), 'w');
  try {
    for await (const { first, bytes } of writer.inOrder()) {
      watch.signal?.throwIfAborted();
      const cut = Math.min(Math.max((validation - first) * recordBytes, 0), bytes.length);
      await writeAll(held, bytes.subarray(0, cut), first * recordBytes);
      if (cut < bytes.length) await writeAll(train, bytes.subarray(cut), Math.max(first - validation, 0) * recordBytes);
      watch.onProgress?.({ stage: 'shuffle', done: first + bytes.length / recordBytes, of: count, unit: 'rows' });
    }
  } finally {
    await held.close();
    await train.close();
  }
}

function setsOf(
  folder: string,
  recordBytes: number,
  validation: number,
  count: number,
): Pick<ImportedData, 'train' | 'validation'> {
  return {
    train: recordSet(join(folder, 'train.records'), count - validation, recordBytes),
    validation: validation === 0 ? null : recordSet(join(folder, 'validation.records'), validation, recordBytes),
  };
}

function donePath(folder: string): string {
  return join(folder, 'import.json');
}

async function writeDone(folder: string, key: string, header: DataHeader, report: ImportReport): Promise<void> {
  await writeFile(join(folder, 'header.json'), canonicalHeader(header));
  const path = donePath(folder);
  await writeFile(`${path}.new`, JSON.stringify({ key, header, report }));
  await rename(`${path}.new`, path);
  await rm(join(folder, 'raw.bin'), { force: true });
  await rm(join(folder, 'reading.json'), { force: true });
}

/** An import of the same sources and choices that this folder holds already. */
async function readDone(folder: string, key: string): Promise<ImportedData | null> {
  let done: { key: string; header: unknown; report: ImportReport };
  try {
    done = JSON.parse(await readFile(donePath(folder), 'utf8')) as typeof done;
  } catch {
    return null;
  }
  if (done.key !== key) return null;
  const header = parseDataHeader(done.header);
  const { bytes } = new RowEncoder(header, [], true);
  const sets = setsOf(folder, bytes, done.report.validation, done.report.rows);
  for (const set of [sets.train, sets.validation]) {
    if (set === null) continue;
    const size = await stat(set.path).then(
      (found) => found.size,
      () => -1,
    );
    if (size !== set.count * set.recordBytes) return null;
  }
  return { header, ...sets, report: done.report };
}

function checkSameColumns(source: DataSource, validation: DataSource, { features, labels }: Chosen): void {
  for (const { name, index } of [...features, ...labels]) {
    const [one, other] = [source.columns[index]!, validation.columns[index]];
    const isSame = other?.name === name && JSON.stringify(one.tensor) === JSON.stringify(other.tensor);
    if (!isSame)
      refuseChoice(
        'DATA_COLUMN_MISSING',
        `column ${index + 1} of ${validation.file} to be "${name}"`,
        other?.name,
        'give both files the same columns',
      );
  }
}
