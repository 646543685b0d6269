/** How a source is read: which columns are features, which the label, and of what kind each is. */
import { refuseChoice } from './errors.js';
import type { ColumnLook, Look } from './look.js';

type ColumnKind = 'number' | 'category' | 'flag' | 'integer' | 'image' | 'tokens';

export interface Choices {
  /** Columns of the label. Default: the column named label, class, target or y; text has none. */
  readonly label?: readonly string[];
  /** Default: class for a category and for at most 20 different whole numbers, else real. */
  readonly task?: 'class' | 'real' | 'vector' | 'tokens';
  /** Columns that are not read. */
  readonly drop?: readonly string[];
  /** Kinds of single columns, where the guess is wrong. */
  readonly kinds?: Readonly<Record<string, ColumnKind>>;
  /** Fraction of numbers and targets; default 12. */
  readonly frac?: number;
  /** Rows whose label is missing: refused by default. */
  readonly missingLabel?: 'refuse' | 'drop';
}

export interface ChosenColumn {
  readonly name: string;
  /** Place in the rows of the source. */
  readonly index: number;
  readonly kind: ColumnKind;
  readonly look: ColumnLook;
}

export interface Chosen {
  readonly features: readonly ChosenColumn[];
  readonly labels: readonly ChosenColumn[];
  readonly task: 'class' | 'real' | 'vector' | 'tokens';
  readonly frac: number;
  readonly dropped: readonly string[];
  readonly missingLabel: 'refuse' | 'drop';
}

const labelNames = ['label', 'class', 'target', 'y'];
const classesGuessedMax = 20;
/** So many columns of whole numbers from 0 to 255, and no others, are pixels. */
const pixelColumns = 64;

/** @throws ConfigurationError DATA_CHOICE, DATA_COLUMN_MISSING, DATA_COLUMN_KIND, DATA_LABEL */
export function choose(seen: Look, choices: Choices = {}): Chosen {
  const byName = new Map(seen.columns.map((column, index) => [column.name, { column, index }]));
  for (const name of [...(choices.label ?? []), ...(choices.drop ?? []), ...Object.keys(choices.kinds ?? {})]) {
    if (byName.has(name)) continue;
    const names = seen.columns.slice(0, 20).map((column) => column.name);
    const parts = name.split(',').map((part) => part.trim());
    const isList = parts.length > 1 && parts.every((part) => byName.has(part));
    const action = isList ? `part the names by blanks: ${parts.join(' ')}` : 'check the spelling';
    refuseChoice('DATA_COLUMN_MISSING', `a column of ${seen.file}: ${names.join(', ')}`, name, action);
  }
  const isTokens = seen.columns.some(({ guess }) => guess === 'tokens');
  const labels = isTokens ? [] : (choices.label ?? guessLabel(seen));
  const task = isTokens ? 'tokens' : (choices.task ?? guessTask(labels.map((name) => byName.get(name)!.column)));
  checkTask(task, labels, isTokens);
  const dropped = choices.drop ?? [];
  const rest = seen.columns.filter(({ name }) => !labels.includes(name) && !dropped.includes(name));
  const arePixels =
    rest.length >= pixelColumns &&
    rest.every((one) => one.guess === 'number' && one.isWhole && one.missing === 0 && isByte(one));
  const chosen = (name: string, kind: ColumnKind): ChosenColumn => {
    const { column, index } = byName.get(name)!;
    return { name, index, kind, look: column };
  };
  return {
    features: rest.map((one) => chosen(one.name, choices.kinds?.[one.name] ?? guessKind(one, arePixels, seen.file))),
    labels: labels.map((name) => chosen(name, labelKind(task, choices.kinds?.[name], byName.get(name)!.column))),
    ...{ task, frac: choices.frac ?? 12, dropped, missingLabel: choices.missingLabel ?? 'refuse' },
  };
}

function isByte({ least, most }: ColumnLook): boolean {
  return least !== null && most !== null && least >= 0 && most <= 255;
}

function guessLabel(seen: Look): readonly string[] {
  const name = labelNames.find((one) => seen.columns.some((column) => column.name.toLowerCase() === one));
  const found = seen.columns.find((column) => column.name.toLowerCase() === name);
  if (found !== undefined) return [found.name];
  const names = seen.columns.slice(0, 20).map((column) => column.name);
  const named = `name it, one of ${names.join(', ')} (--target or --label)`;
  const isText = seen.columns.length === 1 && seen.columns[0]!.guess !== 'number';
  return refuseChoice(
    'DATA_LABEL',
    `the name of the label's column of ${seen.file}`,
    'none',
    isText ? `${named}; or learn the text itself (--task language)` : named,
  );
}

function guessTask(labels: readonly ColumnLook[]): 'class' | 'real' | 'vector' {
  if (labels.length > 1) return labels.every(({ counts }) => counts.length === 2) ? 'vector' : 'real';
  const [label] = labels;
  if (label === undefined) return 'real';
  if (label.guess !== 'number') return 'class';
  return label.isWhole && !label.isMore && label.distinct <= classesGuessedMax ? 'class' : 'real';
}

function checkTask(task: Chosen['task'], labels: readonly string[], isTokens: boolean): void {
  if ((task === 'tokens') !== isTokens) {
    refuseChoice('DATA_LABEL', 'tokens as the label of text alone', task, 'choose class, real or vector');
  }
  if (task === 'class' && labels.length !== 1) {
    refuseChoice('DATA_LABEL', 'one column for a class', labels.length, 'choose the task vector for several');
  }
  if (!isTokens && labels.length === 0) refuseChoice('DATA_LABEL', 'a label', 'none', "name the label's column");
}

function guessKind(column: ColumnLook, arePixels: boolean, file: string): ColumnKind {
  if (column.guess === 'number') return arePixels ? 'integer' : 'number';
  if (column.guess !== 'text') return column.guess;
  return refuseChoice(
    'DATA_COLUMN_KIND',
    `numbers or repeated categories in column "${column.name}" of ${file}`,
    ...textsOf(column),
  );
}

/** 2024-05-01, alone or before a time. */
const date = /^\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)/;
/** 1,234: of thousands or of decimals. */
const thousands = /^[+-]?\d{1,3}(?:,\d{3})+$/;
/** -1,5 and 1.234,5. */
const decimalComma = /^[+-]?\d*(?:\.\d{3})*,\d+$/;

/** What is in a column of texts, and what to do about it. */
function textsOf({ firstText, numbers, distinct, isMore }: ColumnLook): readonly [got: string, action: string] {
  const or = 'drop the column (--drop), or say that it is a category (--category)';
  const first = firstText === null ? '' : `"${firstText.text.slice(0, 60)}" in row ${firstText.row}`;
  if (firstText !== null && thousands.test(firstText.text))
    return [`${first}, with a comma`, `write thousands without it and decimals with a point, ${or}`];
  if (firstText !== null && decimalComma.test(firstText.text))
    return [`${first}, a decimal comma`, `write decimals with a point, ${or}`];
  if (numbers > 0 && firstText !== null)
    return [`${first}, beside ${numbers} numbers`, `mend such cells or leave them empty, ${or}`];
  if (firstText !== null && date.test(firstText.text))
    return [`dates, first ${first}`, `give them as numbers, such as days since a start and the hour, or ${or}`];
  return [`${distinct}${isMore ? ' or more' : ''} different texts`, or];
}

function labelKind(task: Chosen['task'], asked: ColumnKind | undefined, column: ColumnLook): ColumnKind {
  const kind =
    asked ?? (task === 'real' ? 'number' : task === 'class' || column.counts.length !== 2 ? 'category' : 'flag');
  const allowed: readonly ColumnKind[] = {
    real: ['number'],
    class: ['category'],
    vector: ['flag', 'category'],
    tokens: [],
  }[task] as readonly ColumnKind[];
  if (allowed.includes(kind)) return kind;
  return refuseChoice('DATA_LABEL', `${allowed.join(' or ')} for a label of ${task}`, kind, 'choose another task');
}
