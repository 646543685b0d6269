/**
 * What a command prints: one JSON document on stdout with --json, readable lines without; everything else on stderr.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { InvalidArgumentError } from 'commander';
import { CodedError, fromHex } from '#attestation/base';
import { fullDisk } from '#libs/client/files';
import { visibleText } from '#libs/review/text';
import { ownLine, ownText } from './own-text.js';

export interface OutputOptions {
  readonly json?: boolean;
}

/** What a command would print. */
interface Printed {
  readonly result: unknown;
  readonly text: string;
}

const takers = new AsyncLocalStorage<(printed: Printed) => void>();

/** Runs commands whose results go to whoever runs them instead of standard output. */
export function taken(act: () => Promise<unknown>): Promise<readonly Printed[]> {
  const all: Printed[] = [];
  return takers.run(
    (printed) => void all.push(printed),
    () => act().then(() => all),
  );
}

/** Prints the result of a command. What a stranger wrote is `visibleText` in `readable` already where a line could be forged. */
export function printResult(options: OutputOptions, result: unknown, readable: () => string): void {
  const take = takers.getStore();
  if (take !== undefined) return take({ result, text: ownText(readable()) });
  process.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${ownText(readable())}\n`);
}

export function log(line: string): void {
  process.stderr.write(`${ownText(line)}\n`);
}

type Rows = readonly (readonly [name: string, value: string])[];

/** One line per pair, names aligned, whatever a stranger wrote into them. */
export function table(rows: Rows): string {
  return aligned(rows, visibleText);
}

/** The same of what is the user's own: names and paths that are to be copied. */
export function ownTable(rows: Rows): string {
  return aligned(rows, ownLine);
}

function aligned(rows: Rows, show: (text: string) => string): string {
  const shown = rows.map(([name, value]) => [show(name), show(value)] as const);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Options of commands that list. */
export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}

/** A row that says how to go on where a page is not the last. */
export function moreOf({ nextCursor }: { readonly nextCursor: string | null }): (readonly [string, string])[] {
  return nextCursor === null ? [] : [['more', `--cursor ${nextCursor}`]];
}

/** @throws InvalidArgumentError for anything but a whole number from 1 */
export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number above 0');
  return Number(text);
}

/** @throws InvalidArgumentError */
export function digest(text: string): Uint8Array {
  if (/^0x[0-9a-f]{64}$/.test(text)) return fromHex(text);
  throw new InvalidArgumentError('0x and 64 lower-case hexadecimal digits');
}

/** Says what went wrong, for people on stderr and with --json on stdout, and makes the process exit with 1. */
export function reportFailure(error: unknown, json: boolean): void {
  process.exitCode = 1;
  const coded = error instanceof CodedError ? error : fullDisk(error);
  if (json) {
    const body = coded?.toJSON() ?? { code: 'INTERNAL', got: error instanceof Error ? error.message : String(error) };
    process.stdout.write(`${JSON.stringify({ error: body })}\n`);
  }
  if (coded === null) {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return;
  }
  const { expected, got, rule, action } = coded.detail;
  log(visibleText(coded.code));
  log(
    ownTable(
      byLine([
        ['expected', expected],
        ['got', got],
        ['rule', rule],
        ['do', action ?? ''],
      ]),
    ),
  );
}

/** A row for each line of a value, so that none begins without its name or room for one. */
function byLine(rows: Rows): Rows {
  const parts = rows.map(([name, value]) => [name, value.split('\n').filter(Boolean)] as const);
  return parts.flatMap(([name, lines]) =>
    lines.map((line, index) => [index === 0 ? name : '', `${index === 0 ? '' : '| '}${line}`]),
  );
}

/**
 * Arguments that no command takes, or help that was asked for: commander has said so to people; this adds the
 * document.
 */
export function reportUsage({ exitCode, message }: { exitCode: number; message: string }, json: boolean): void {
  process.exitCode = exitCode;
  if (exitCode === 0 || !json) return;
  const detail = { expected: 'arguments as --help lists them', got: message, rule: 'arguments of this command' };
  process.stdout.write(`${JSON.stringify({ error: { family: 'configuration', code: 'USAGE', ...detail } })}\n`);
}
