/** A user's file as records for a net: how it is read is kept beside the manifest, so that training reads it the same way. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { ConfigurationError } from '#attestation/base';
import { importData, look, openSource, type Choices, type ImportedData } from '#libs/data';

export interface DataOptions {
  readonly target?: readonly string[];
  readonly task?: keyof typeof taskKinds;
  readonly validation?: string;
  readonly drop?: readonly string[];
  readonly labels?: string;
  readonly size?: string;
  readonly tokens?: string;
  readonly tokenizer?: string;
  readonly textField?: string;
}

export const taskKinds = { classify: 'class', regress: 'real', multilabel: 'vector', language: 'tokens' } as const;

export type Source = Awaited<ReturnType<typeof openSource>>;

export function addDataOptions(command: Command): Command {
  return command
    .option('--target <column...>', 'column of the label, or several of them')
    .option('--drop <column...>', 'columns that are not read')
    .option('--validation <share>', 'rows kept apart to measure on: 10%, or a number of rows')
    .option('--labels <file>', 'pictures and arrays: the file of their labels')
    .option('--size <pixels>', 'pictures: side to which all are resized')
    .option('--tokens <n>', 'text: tokens of a record')
    .option('--tokenizer <file>', 'text: a tokenizer.json; characters without it')
    .option('--text-field <name>', 'JSON lines: the member that holds the text');
}

export async function openData(path: string, options: DataOptions): Promise<Source> {
  const isText = options.task === 'language' && /\.(jsonl|ndjson)$/i.test(path);
  const textField = options.textField ?? (isText ? 'text' : undefined);
  const side = options.size === undefined ? undefined : countOf('--size', options.size);
  return openSource(path, {
    ...(options.labels !== undefined && { labels: options.labels }),
    ...(side !== undefined && { size: [side, side] as const }),
    ...(options.tokens !== undefined && { tokens: countOf('--tokens', options.tokens) }),
    ...(options.tokenizer !== undefined && { tokenizer: options.tokenizer }),
    ...(textField !== undefined && { textField }),
  });
}

/** @param seed of the shuffle, the manifest's @param folder working folder of the import */
export async function recordsOf(
  source: Source,
  options: DataOptions,
  seed: string,
  folder: string,
): Promise<ImportedData> {
  const seen = await look(source);
  const validation = rowsOf(options.validation ?? '10%', seen.rows);
  return importData({ source, seen, validation, seed, choices: choicesOf(options), folder: join(folder, 'import') });
}

function choicesOf({ target, task, drop }: DataOptions): Choices {
  return {
    ...(target !== undefined && { label: target }),
    ...(task !== undefined && { task: taskKinds[task] }),
    ...(drop !== undefined && { drop }),
    missingLabel: 'drop',
  };
}

function rowsOf(share: string, rows: number): number {
  const [, number, percent] = /^(\d{1,9}(?:\.\d+)?)(%?)$/.exec(share) ?? [];
  if (number === undefined) throw usage('--validation as 10% or a number of rows', share);
  return percent === '%' ? Math.round((rows * Number(number)) / 100) : Number(number);
}

function countOf(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw usage(`${name} as a whole number above 0`, text);
  return Number(text);
}

export function usage(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('USAGE', { expected, got, rule: 'apps/cli/COMMANDS.md' });
}
