/** What a reader of the data should know, in words with counts (libs/data/SPEC.md §6). */
import { realEnds, type DataHeader } from '#libs/step';
import type { Choices, Chosen, ChosenColumn } from './choose.js';
import type { ColumnReport } from './encode-cell.js';
import { spelledMissing } from './look.js';
import type { Statistics } from './statistics.js';

/** Columns that a note names. */
const namedMax = 10;

/** The first ones, and how many there are. */
export function listed(values: readonly string[]): string {
  const first = values.slice(0, 3).map((value) => `"${value}"`);
  return values.length > first.length ? `${first.join(', ')} … (${values.length} in all)` : first.join(', ');
}

/** @param isGiven the header was made for other data */
export function notesOnCells(reports: readonly ColumnReport[], header: DataHeader, isGiven: boolean): string[] {
  const unseen = isGiven ? 'that the header does not know' : 'with a category that no training row has';
  const such = ({ unseenValues }: ColumnReport): string => `, such as ${listed(unseenValues)}`;
  return [
    ...counted('missing cells', reports, ({ missing }) => missing),
    ...counted(`cells ${unseen}`, reports, (one) => one.unseen, such),
    ...counted(
      'numbers too far out for the integers of a record, which count as the farthest',
      reports,
      ({ clamped }) => clamped,
    ),
    ...notesOnAnswers(reports, header),
  ];
}

function counted(
  what: string,
  reports: readonly ColumnReport[],
  of: (report: ColumnReport) => number,
  more: (report: ColumnReport) => string = () => '',
): string[] {
  const found = reports.filter((report) => of(report) > 0);
  if (found.length === 0) return [];
  const places = found.slice(0, namedMax).map((one) => `${of(one)} in column "${one.name}"${more(one)}`);
  const rest = found.length > namedMax ? ` … (${found.length} columns in all)` : '';
  return [`${what}: ${places.join('; ')}${rest}`];
}

/** A label may be farther out than the 16 bits of an answer reach. */
function notesOnAnswers(reports: readonly ColumnReport[], { label }: DataHeader): string[] {
  if (label.kind !== 'real') return [];
  return label.columns.flatMap((column) => {
    const beyond = reports.findLast(({ name }) => name === column.name)?.beyond ?? 0;
    if (beyond === 0 || column.kind !== 'number') return [];
    const { center, scale } = column;
    const [low, high] = realEnds(label.frac).map((end) => String(Number((center + end * scale).toPrecision(4))));
    return [
      `answers for "${column.name}" end at ${low} and ${high}: ${beyond} of its labels ${beyond === 1 ? 'is' : 'are'} beyond`,
    ];
  });
}

/** Columns that a header does not know are not asked for by anybody. */
export function notesOnUnread({ dropped }: Chosen, { drop = [] }: Choices = {}): string[] {
  const unread = dropped.filter((name) => !drop.includes(name));
  return unread.length === 0 ? [] : [`not known to the header of the start weights, and not read: ${listed(unread)}`];
}

/** Classes that hardly any row repeats cannot be learned. */
export function notesOnClasses({ label }: DataHeader, rows: number): string[] {
  if (label.kind !== 'class' || 2 * label.classes <= rows) return [];
  const what = `the label has ${label.classes} classes in ${rows} rows, so that hardly one repeats`;
  return [`${what}: of numbers say --task regress of model init, or choose another label`];
}

/** NA may be a class, or a country. */
export function notesOnMissing({ features, labels, task }: Chosen): string[] {
  const named = [...(task === 'real' ? [] : labels), ...features.filter(({ kind }) => kind === 'category')];
  return named.flatMap(({ look: seen }) => spelledMissing(seen) ?? []);
}

/** Columns of a table are pixels by a guess. */
export function notesOnPixels({ features }: Chosen): string[] {
  const [first, ...others] = features.filter(({ kind, look: { shape } }) => kind === 'integer' && shape === null);
  if (first === undefined) return [];
  return [
    `${others.length + 1} columns of whole numbers from "${first.name}" on are taken as they are, as pixels are; --number of model init makes numbers of them, each centered and scaled`,
  ];
}

/** What a reader of the file may not have meant. */
export function notesOnColumn(
  { name, kind, look: { numbers, firstText } }: ChosenColumn,
  { isConstant }: Statistics,
): string[] {
  if (kind === 'number' && isConstant) return [`column "${name}" is the same in all training rows`];
  if (kind !== 'category' || numbers === 0 || firstText === null) return [];
  return [
    `column "${name}" is read as categories: ${numbers} of its cells are numbers, and "${firstText.text.slice(0, 60)}" in row ${firstText.row} is none`,
  ];
}
