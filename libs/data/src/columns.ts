/** What each column of a source becomes, for whoever asked for a plan of it. */
import { columnWidth, sizeOf, type Column, type DataHeader } from '#libs/step';
import type { Chosen, ChosenColumn } from './choose.js';
import type { Look } from './look.js';
import type { Statistics } from './statistics.js';

export interface ColumnUse {
  readonly name: string;
  readonly use: 'feature' | 'label' | 'dropped';
  /** In words. */
  readonly becomes: string;
  /** Elements that it fills of a record; 0 of what is no feature. */
  readonly places: number;
  /** Why it may not be what a reader meant, and what else could be chosen for it. */
  readonly doubt: { readonly why: string; readonly choices: readonly ('category' | 'drop')[] } | null;
}

/** Names of codes that are numbers in writing alone. */
const codeName = /^(?:zip|plz|postal|post)(?:[ _-]?code)?$|[ _-](?:code|id)$|^code$/i;
/** So few rows say nothing about how often values repeat. */
const tellingRows = 20;

/** @param found of the features, in their order @returns in the order of the source */
export function columnUses(
  { features, labels }: Chosen,
  header: DataHeader,
  found: readonly Statistics[],
  { columns, rows }: Look,
): readonly ColumnUse[] {
  const places = new Map(header.columns.map((column, at) => [column.name, at]));
  const uses = new Map(
    features.map((one, i) => [one.name, featureUse(one, header, places.get(one.name)!, found[i]!, rows)]),
  );
  return columns.map(({ name }): ColumnUse => {
    const use = uses.get(name);
    if (use !== undefined) return use;
    if (labels.some((one) => one.name === name)) {
      return { name, use: 'label', becomes: labelWords(header, name), places: 0, doubt: null };
    }
    return { name, use: 'dropped', becomes: 'not read', places: 0, doubt: null };
  });
}

/** @param at place of the column in the header */
function featureUse(chosen: ChosenColumn, header: DataHeader, at: number, found: Statistics, rows: number): ColumnUse {
  const { name } = chosen;
  const column = header.columns[at]!;
  const hasMissing = header.columns[at + 1]?.kind === 'missing';
  const size = columnWidth(column) ?? sizeOf(header.features.shape);
  const becomes = `${columnWords(column)}${hasMissing ? ', and whether it is missing' : ''}`;
  const doubt = doubtOn(chosen, found, rows);
  return { name, use: 'feature', becomes, places: size + (hasMissing ? 1 : 0), doubt };
}

function columnWords(column: Column): string {
  switch (column.kind) {
    case 'number':
      return 'number, centered and scaled';
    case 'category':
      return `category of ${column.values.length} value${column.values.length === 1 ? '' : 's'}, a place each`;
    case 'flag':
      return `flag: ${column.values.join(' or ')}`;
    case 'integer':
      return 'whole numbers, as they are';
    case 'image':
      return 'picture';
    case 'text':
      return 'tokens of a text';
    case 'missing':
      return 'whether a number is missing';
  }
}

function labelWords({ label }: DataHeader, name: string): string {
  if (label.kind === 'tokens') return 'the next token';
  const column = label.columns.find((one) => one.name === name);
  if (label.kind === 'class') return `one of ${label.classes} classes`;
  return column === undefined ? label.kind : columnWords(column);
}

function doubtOn({ name, kind, look }: ChosenColumn, { isConstant }: Statistics, rows: number): ColumnUse['doubt'] {
  const there = rows - look.missing;
  const drop = (why: string): ColumnUse['doubt'] => ({ why, choices: ['drop'] });
  if (kind === 'category') {
    const isOwn = there >= tellingRows && look.distinct > there / 2;
    return isOwn ? drop(`${look.distinct} values in ${there} rows: hardly one repeats`) : null;
  }
  if (kind !== 'number' || look.shape !== null) return null;
  if (look.numbers === 0) return drop('empty in all rows');
  if (isConstant) return drop('the same in all training rows');
  if (!look.isWhole || there < tellingRows) return null;
  const range = look.most! - look.least! + 1;
  const isOwn = look.isMore || look.distinct === there;
  if (isOwn && range >= there && range <= 2 * there) return drop('counts the rows, as an id does');
  return codeName.test(name) ? { why: 'codes, by its name', choices: ['category', 'drop'] } : null;
}
