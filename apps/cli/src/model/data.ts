/** A user's file as records for a net: how it is read is kept beside the manifest, so that training reads it the same way. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { ConfigurationError } from '#attestation/base';
import type { Watch } from '#libs/client';
import type { DataHeader } from '#libs/step';
import { describeData, importData, openSource, type Choices, type ImportedData, type Share } from '#libs/data';

export interface DataOptions {
  readonly target?: readonly string[];
  readonly task?: keyof typeof taskKinds;
  readonly validation?: string;
  readonly drop?: readonly string[];
  readonly category?: readonly string[];
  readonly number?: readonly string[];
  /** false: a table has no line of names. */
  readonly names?: boolean;
  readonly labels?: string;
  readonly size?: string;
  readonly tokens?: string;
  readonly tokenizer?: string;
  readonly textField?: string;
  /** Of an NPZ file: ARRAY, or COLUMN=ARRAY. */
  readonly arrays?: readonly string[];
}

export const taskKinds = { classify: 'class', regress: 'real', multilabel: 'vector', language: 'tokens' } as const;

export type Source = Awaited<ReturnType<typeof openSource>>;

export function addDataOptions(command: Command): Command {
  return command
    .option('--target <column...>', 'column of the label, or several of them')
    .option('--drop <column...>', 'columns that are not read')
    .option('--category <column...>', 'columns whose values are categories, whatever they look like')
    .option('--number <column...>', 'columns that are read as numbers, not as pixels or categories')
    .option('--no-names', 'CSV: the first line is a row; columns are c1, c2, …')
    .option('--validation <share>', 'rows kept apart to measure on: 10%, or a number of rows')
    .option('--labels <file>', 'pictures and arrays: the file of their labels')
    .option('--arrays <array...>', 'npz: the arrays that are read, under other names where given: x=x_train')
    .option('--size <pixels>', 'pictures: side to which all are resized')
    .option('--tokens <n>', 'text: tokens of a record')
    .option('--tokenizer <file>', 'text: a tokenizer.json; characters without it')
    .option('--text-field <name>', 'JSON lines: the member that holds the text');
}

/** What is not the user's to choose: labels nobody asks for, channels that a model takes. */
type Known = Pick<NonNullable<Parameters<typeof openSource>[1]>, 'hasLabels' | 'channels'>;

export async function openData(path: string, options: DataOptions, known: Known = {}): Promise<Source> {
  const isText = options.task === 'language' && /\.(jsonl|ndjson)$/i.test(path);
  const textField = options.textField ?? (isText ? 'text' : undefined);
  const side = options.size === undefined ? undefined : countOf('--size', options.size);
  return openSource(path, {
    ...known,
    ...(options.labels !== undefined && { labels: options.labels }),
    ...(side !== undefined && { size: [side, side] as const }),
    ...(options.tokens !== undefined && { tokens: countOf('--tokens', options.tokens) }),
    ...(options.tokenizer !== undefined && { tokenizer: options.tokenizer }),
    ...(textField !== undefined && { textField }),
    ...(options.names === false && { hasNames: false }),
    ...(options.arrays !== undefined && { arrays: arraysOf(options.arrays) }),
  });
}

/** By name of the column. @throws ConfigurationError USAGE for a name that is given twice */
export function arraysOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((one) => {
    const at = one.indexOf('=');
    return [at < 0 ? one : one.slice(0, at), one.slice(at + 1)] as const;
  });
  const twice = pairs.find(([column], i) => pairs.findIndex(([other]) => other === column) !== i);
  if (twice !== undefined) throw usage('--arrays with a name of its own for each', twice[0]);
  return Object.fromEntries(pairs);
}

const meantForText: readonly string[] = ['tokens', 'tokenizer'];

/** What says nothing of such a file was meant for another. @throws ConfigurationError USAGE */
export function checkMeant({ kind, file }: Source, options: DataOptions): void {
  const isArray = kind === 'npy' || kind === 'idx';
  const meant = {
    size: kind === 'images',
    tokens: kind === 'text',
    tokenizer: kind === 'text',
    textField: kind === 'text',
    labels: kind === 'images' || isArray,
    arrays: kind === 'npz',
  };
  const names = {
    size: '--size',
    tokens: '--tokens',
    tokenizer: '--tokenizer',
    textField: '--text-field',
    labels: '--labels',
    arrays: '--arrays',
  };
  for (const name of ['size', 'tokens', 'tokenizer', 'textField', 'labels', 'arrays'] as const) {
    if (options[name] === undefined || meant[name]) continue;
    const isText = kind === 'jsonl' && meantForText.includes(name);
    const action = isText
      ? 'say --task language, and --text-field NAME where the member of texts is not "text"'
      : undefined;
    throw usage(`no ${names[name]} for ${file}, which is read as ${kind}`, String(options[name]), action);
  }
}

/**
 * @param seed of the shuffle, the manifest's
 * @param folder working folder of the import
 * @param by header that start weights were made for; absent: the data's own
 */
export async function recordsOf(
  source: Source,
  options: DataOptions,
  seed: string,
  folder: string,
  by?: DataHeader,
): Promise<ImportedData> {
  return importData({ ...requestOf(source, options, { seed, folder }), ...(by !== undefined && { by }) });
}

/** The header of these records, and how many there are. */
export async function headerOf(source: Source, options: DataOptions, seed: string, folder: string, watch: Watch) {
  return describeData(requestOf(source, options, { seed, folder }), watch);
}

function requestOf(
  source: Source,
  options: DataOptions,
  { seed, folder }: { readonly seed: string; readonly folder: string },
) {
  checkMeant(source, options);
  const validation = heldOf(options.validation ?? '10%');
  return { source, validation, seed, choices: choicesOf(options), folder: join(folder, 'import') };
}

function choicesOf(options: DataOptions): Choices {
  const { target, task, drop } = options;
  return {
    ...(target !== undefined && { label: target }),
    ...(task !== undefined && { task: taskKinds[task] }),
    ...(drop !== undefined && { drop }),
    kinds: kindsOf(options),
    missingLabel: 'drop',
  };
}

/** @throws ConfigurationError USAGE for a column that is named for both */
export function kindsOf({ category = [], number = [] }: DataOptions): NonNullable<Choices['kinds']> {
  const both = number.find((name) => category.includes(name));
  if (both !== undefined) throw usage('a column under --category or --number, not under both', both);
  return Object.fromEntries([
    ...category.map((name) => [name, 'category'] as const),
    ...number.map((name) => [name, 'number'] as const),
  ]);
}

function heldOf(asked: string): number | Share {
  const [, share, percent] = /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(asked) ?? [];
  const isRows = percent === '' && !share!.includes('.');
  if (isRows) return Number(share);
  if (percent === '%') return { percent: Number(share) };
  const meant = Number(share) < 1 ? `${Number((100 * Number(share)).toPrecision(6))}%` : '20%';
  throw usage(`--validation as a share such as ${meant}, or as a number of rows`, asked);
}

function countOf(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw usage(`${name} as a whole number above 0`, text);
  return Number(text);
}

export function usage(expected: string, got: string, action?: string): ConfigurationError {
  const rule = 'apps/cli/COMMANDS.md';
  return new ConfigurationError('USAGE', { expected, got, rule, ...(action !== undefined && { action }) });
}
