/** How a source is read: which columns are features, which the label, and of what kind each is. */
import { columnWidth, sizeOf, type Column, type DataHeader } from '#libs/step';
import { optionValue, refuseChoice } from './errors.js';
import { columnsOfMatrixMax } from './limits.js';
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
  const asked = new Map(Object.entries(choices.kinds ?? {}));
  for (const name of [...(choices.label ?? []), ...(choices.drop ?? []), ...asked.keys()]) {
    if (byName.has(name)) continue;
    const names = seen.columns.slice(0, 20).map((column) => column.name);
    const parts = name.split(',').map((part) => part.trim());
    const isList = parts.length > 1 && parts.every((part) => byName.has(part));
    const action = isList ? `part the names by blanks: ${parts.join(' ')}` : spelling(name, seen);
    refuseChoice('DATA_COLUMN_MISSING', `a column of ${seen.file}: ${names.join(', ')}`, name, action);
  }
  for (const [name, kind] of asked) checkKind(byName.get(name)!.column, kind);
  const isTokens = seen.columns.some(({ guess }) => guess === 'tokens');
  const dropped = choices.drop ?? [];
  const labels = isTokens ? [] : (choices.label ?? guessLabel(seen, dropped));
  for (const name of labels) checkLabelCell(byName.get(name)!.column, seen.file);
  const both = labels.find((name) => dropped.includes(name));
  if (both !== undefined) refuseChoice('DATA_CHOICE', 'a label that is not dropped', both, 'drop it, or learn it');
  const task = isTokens ? 'tokens' : (choices.task ?? guessTask(labels.map((name) => byName.get(name)!.column)));
  checkTask(task, labels, isTokens);
  const rest = seen.columns.filter(({ name }) => !labels.includes(name) && !dropped.includes(name));
  if (rest.length === 0) refuseAlone(labels, seen.file);
  const arePixels =
    rest.length >= pixelColumns &&
    rest.every((one) => one.guess === 'number' && one.isWhole && one.missing === 0 && isByte(one));
  const chosen = (name: string, kind: ColumnKind): ChosenColumn => {
    const { column, index } = byName.get(name)!;
    return { name, index, kind, look: column };
  };
  const texts = rest.filter(({ name, guess }) => guess === 'text' && !asked.has(name));
  if (texts.length > 0) refuseTexts(texts, dropped, seen.file);
  const kinds = rest.map((one) => asked.get(one.name) ?? guessKind(one, arePixels));
  const areIntegers = kinds.every((kind) => kind === 'integer');
  // A record has one type: beside others, integers are numbers unless they are asked for.
  const kindOf = (name: string, kind: ColumnKind): ColumnKind =>
    kind === 'integer' && !areIntegers && !asked.has(name) ? 'number' : kind;
  return {
    features: rest.map(({ name }, i) => chosen(name, kindOf(name, kinds[i]!))),
    labels: labels.map((name) => chosen(name, labelKind(task, asked.get(name), byName.get(name)!.column))),
    ...{ task, frac: choices.frac ?? 12, dropped, missingLabel: choices.missingLabel ?? 'refuse' },
  };
}

/** Of a table whose first line is taken for names, the name that a column has where there are none. */
function spelling(name: string, { kind, columns }: Look): string {
  const isByPlace = (kind === 'csv' || kind === 'tsv') && columns.some((_, index) => name === `c${index + 1}`);
  const without = `; where the file has no line of names, say --no-names: its columns are then c1 to c${columns.length}`;
  return `check the spelling${isByPlace ? without : '; a name that a plan has fits the data that the plan was made from'}`;
}

/** Labels are columns: an array of integers of few bits is one column of many numbers, as pixels are. */
function checkLabelCell({ name, guess, shape }: ColumnLook, file: string): void {
  if (shape === null) return;
  const [count, ...others] = shape;
  const isRow = others.length === 0 && guess === 'integer' && count! <= columnsOfMatrixMax;
  const columns =
    count! <= 4 ? Array.from({ length: count! }, (_, i) => name + i) : [`${name}0`, '…', name + (count! - 1)];
  refuseChoice(
    'DATA_LABEL',
    `one number or text a row in the label "${name}" of ${file}`,
    `${shape.join('×')} of kind ${guess} a row`,
    isRow
      ? `save it as int64 (array.astype("<i8")), and name its columns ${columns.join(' ')} (--target or --label)`
      : 'name another label',
  );
}

function refuseAlone(labels: readonly string[], file: string): never {
  const expected = `a column of ${file} beside the label "${labels.join('", "')}", to tell it from`;
  return refuseChoice('DATA_CHOICE', expected, 'none', 'add columns, drop fewer, or name another label');
}

/** What has several numbers a row is a number or integers; pictures and tokens are what they are. */
function checkKind({ name, guess, shape }: ColumnLook, kind: ColumnKind): void {
  if (shape === null || kind === guess || (kind === 'number' && guess === 'integer')) return;
  const expected = `column "${name}" as ${guess}, with ${shape.join('×')} numbers a row`;
  refuseChoice('DATA_CHOICE', expected, kind, 'name no kind for it');
}

/**
 * As a header says that was made for other data. Labels, task and kinds that are asked for besides must be those of the header.
 *
 * @throws ConfigurationError DATA_CHOICE, DATA_COLUMN_MISSING, DATA_COLUMN_KIND
 */
export function chooseBy(header: DataHeader, seen: Look, choices: Choices = {}): Chosen {
  const { label } = header;
  const own = header.columns.filter(({ kind }) => kind !== 'missing');
  const labels = label.kind === 'tokens' ? [] : label.columns;
  checkAsked([...own, ...labels], labels, label.kind, choices);
  const features = own.map((column) => columnBy(column, header, seen));
  const read = [...features, ...labels.map((column) => columnBy(column, header, seen))];
  return {
    ...{ features, labels: read.slice(features.length), task: label.kind },
    frac: label.kind === 'real' ? label.frac : 12,
    dropped: seen.columns.flatMap(({ name }, at) => (read.some(({ index }) => index === at) ? [] : [name])),
    missingLabel: choices.missingLabel ?? 'refuse',
  };
}

const headerAction =
  'give data with the columns that the start weights were made for, or bring the model anew with these data (model import)';

/** A text has one column, whatever it is called. */
function columnBy(column: Column, { features: { shape } }: DataHeader, seen: Look): ChosenColumn {
  const { name } = column;
  const kind = column.kind === 'text' ? 'tokens' : (column.kind as ColumnKind);
  const isOnly = kind === 'tokens' && seen.columns.length === 1;
  const index = isOnly ? 0 : seen.columns.findIndex((one) => one.name === name);
  const look = seen.columns[index];
  if (look === undefined) {
    const got = seen.columns.slice(0, 20).map((one) => one.name);
    return refuseChoice('DATA_COLUMN_MISSING', `a column "${name}" of ${seen.file}`, got.join(', '), headerAction);
  }
  const width = columnWidth(column) ?? sizeOf(shape) + (kind === 'tokens' ? 1 : 0);
  const found = look.shape === null ? 1 : sizeOf(look.shape);
  const isSame = (kind === 'category' || kind === 'flag' ? 1 : width) === found;
  const isOwnKind = ['image', 'tokens'].every((one) => (one === kind) === (one === look.guess));
  if (isSame && isOwnKind) return { name, index, kind, look };
  const [wanted, came] = [kind, look.guess].map((one, at) => `${[width, found][at]!} of kind ${one} a row`);
  return refuseChoice('DATA_COLUMN_KIND', `${wanted} in column "${name}" of ${seen.file}`, came, headerAction);
}

function checkAsked(
  all: readonly Column[],
  labels: readonly Column[],
  task: Chosen['task'],
  { label, task: askedTask, drop = [], kinds = {} }: Choices,
): void {
  const names = labels.map(({ name }) => name);
  const refuse = (expected: string, got: string): never =>
    refuseChoice('DATA_CHOICE', `${expected}, as the header beside the start weights has it`, got, headerAction);
  if (label !== undefined && task !== 'tokens' && label.join('\n') !== names.join('\n'))
    refuse(`the label ${names.join(', ')}`, label.join(', '));
  if (askedTask !== undefined && askedTask !== task) refuse(`a label of ${task}`, askedTask);
  const dropped = all.find(({ name }) => drop.includes(name));
  if (dropped !== undefined) refuse(`column "${dropped.name}"`, 'that it is dropped');
  const asked = new Map(Object.entries(kinds));
  const other = all.find(({ name, kind }) => (asked.get(name) ?? kind) !== kind);
  if (other !== undefined) refuse(`column "${other.name}" as ${other.kind}`, asked.get(other.name)!);
}

function isByte({ least, most }: ColumnLook): boolean {
  return least !== null && most !== null && least >= 0 && most <= 255;
}

function guessLabel(seen: Look, dropped: readonly string[]): readonly string[] {
  const left = seen.columns.filter((column) => !dropped.includes(column.name));
  const name = labelNames.find((one) => left.some((column) => column.name.toLowerCase() === one));
  const found = left.find((column) => column.name.toLowerCase() === name);
  if (found !== undefined) return [found.name];
  const names = left.slice(0, 20).map((column) => column.name);
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
  if (labels.length > 1) return guessTaskOfSeveral(labels);
  const [label] = labels;
  if (label === undefined) return 'real';
  if (label.guess !== 'number') return 'class';
  return label.isWhole && !label.isMore && label.distinct <= classesGuessedMax ? 'class' : 'real';
}

function guessTaskOfSeveral(labels: readonly ColumnLook[]): 'real' | 'vector' {
  const isNamed = ({ guess, counts }: ColumnLook): boolean => guess === 'category' || counts.length === 2;
  if (labels.every(isNamed)) return 'vector';
  const text = labels.find(({ guess }) => guess !== 'number');
  if (text === undefined) return 'real';
  const other = labels.find((one) => !isNamed(one))!;
  return refuseChoice(
    'DATA_LABEL',
    'labels that are all numbers, or all categories',
    other === text ? `different texts in "${text.name}"` : `"${other.name}" of numbers, "${text.name}" of texts`,
    'learn them one by one, or say --task multilabel, for which each value is a category',
  );
}

function checkTask(task: Chosen['task'], labels: readonly string[], isTokens: boolean): void {
  if ((task === 'tokens') !== isTokens) {
    refuseChoice('DATA_LABEL', 'tokens as the label of text alone', task, 'choose class, real or vector');
  }
  if (task === 'class' && labels.length !== 1) {
    refuseChoice('DATA_LABEL', 'one column for a class', labels.length, 'say --task multilabel for several');
  }
  if (!isTokens && labels.length === 0) refuseChoice('DATA_LABEL', 'a label', 'none', "name the label's column");
}

function guessKind({ guess }: ColumnLook, arePixels: boolean): ColumnKind {
  if (guess === 'number') return arePixels ? 'integer' : 'number';
  return guess as Exclude<typeof guess, 'number' | 'text'>;
}

/** All of them at once, with the option that leaves them out beside those that are left out already. */
function refuseTexts(columns: readonly ColumnLook[], dropped: readonly string[], file: string): never {
  const names = [...dropped, ...columns.slice(0, droppedTold).map(({ name }) => name)];
  const left = columns.length > droppedTold ? `, and ${columns.length - droppedTold} more of them` : '';
  const option = `--drop ${names.map(optionValue).join(' ')}${left}`;
  const code = 'DATA_COLUMN_KIND';
  const [only, ...others] = columns;
  if (others.length === 0) {
    const { got, mend } = textsOf(only!);
    const or = `say that it is a category (--category of model init), or drop the column: ${option}`;
    refuseChoice(
      code,
      `numbers or repeated categories in column "${only!.name}" of ${file}`,
      got,
      mend ? `${mend}, ${or}` : or,
    );
  }
  const each = columns.slice(0, textsTold).map((column) => {
    const { got, mend } = textsOf(column);
    return `"${column.name}" has ${got}${mend === null ? '' : `: ${mend}`}`;
  });
  const more = columns.length > textsTold ? '; …' : '';
  refuseChoice(
    code,
    `numbers or repeated categories in each column of ${file}`,
    `others in ${columns.length}: ${columns.map(({ name }) => name).join(', ')}`,
    `${each.join('; ')}${more}; say which are categories (--category of model init), or drop them all: ${option}`,
  );
}

/** Columns of texts that a refusal goes into. */
const textsTold = 10;
/** Columns of texts that an option to copy names. */
const droppedTold = 50;

/** 2024-05-01, alone or before a time. */
const date = /^\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)/;
/** 1,234, of thousands or of decimals, and 1,234.50. */
const thousands = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;
/** -1,5 and 1.234,5. */
const decimalComma = /^[+-]?\d*(?:\.\d{3})*,\d+$/;

/** What is in a column of texts, and what could be done about it; null where nothing can. */
function textsOf({ firstText, numbers, distinct, isMore }: ColumnLook): {
  readonly got: string;
  readonly mend: string | null;
} {
  const different = `${distinct}${isMore ? ' or more' : ''} different texts`;
  if (firstText === null) return { got: different, mend: null };
  const { text, row } = firstText;
  const first = `"${text.slice(0, 60)}" in row ${row}`;
  if (thousands.test(text))
    return { got: `${first}, with a comma`, mend: 'write thousands without it and decimals with a point' };
  if (decimalComma.test(text)) return { got: `${first}, a decimal comma`, mend: 'write decimals with a point' };
  if (numbers > 0) return { got: `${first}, beside ${numbers} numbers`, mend: 'mend such cells or leave them empty' };
  if (date.test(text))
    return { got: `dates, first ${first}`, mend: 'give them as numbers, such as days since a start and the hour' };
  return { got: different, mend: null };
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
