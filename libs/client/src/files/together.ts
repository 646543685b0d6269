/** Files that belong together: written whole or not at all, also where a kill or a loss of power comes in between. */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { reasonOf, unwritable } from './files.js';

const partialOf = (path: string, by: number = process.pid): string => `${path}.partial-${by}`;
const formerOf = (path: string, by: number = process.pid): string => `${path}.former-${by}`;
const marked = /^(.+)\.(?:partial|former)-(\d+)$/;

/** What ends in the middle of `writeTogether` left beside a file. */
function leftBeside(path: string): readonly string[] {
  return namesIn(dirname(path))
    .filter((name) => marked.exec(name)?.[1] === basename(path))
    .map((name) => join(dirname(path), name));
}

/**
 * Writes files of one folder: beside their places first, and into them when all are whole and on the disk. Where that fails,
 * what stood there stands there again; `finishTogether` ends what a kill or a loss of power broke off. The last of them is
 * gone before any other changes and comes back after all: an end in between leaves the others without it. Who could not read
 * a former file cannot read the new one.
 *
 * @param gone files that go with the former ones
 * @throws ConfigurationError FILE_UNWRITABLE
 */
export function writeTogether(
  files: readonly (readonly [path: string, data: Uint8Array | string])[],
  gone: readonly string[] = [],
): void {
  const paths = files.map(([path]) => path);
  const folder = dirname(paths[0]!);
  const moved: string[] = [];
  const placed: string[] = [];
  let current = '';
  try {
    for (const [path, data] of files) {
      current = path;
      mkdirSync(folder, { recursive: true });
      rmSync(partialOf(path), { force: true });
      const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o666) & 0o666;
      writeFileSync(partialOf(path), data, { mode, flush: true });
    }
    syncFolder(folder);
    for (current of [...gone, ...paths.toReversed()]) {
      if (!(statSync(current, { throwIfNoEntry: false })?.isFile() ?? false)) continue;
      renameSync(current, formerOf(current));
      moved.push(current);
    }
    for (current of paths) {
      renameSync(partialOf(current), current);
      placed.push(current);
    }
    syncFolder(folder);
  } catch (error) {
    putBack(paths, moved, placed);
    throw unwritable('file', current, error);
  }
  for (const path of [...paths, ...gone].flatMap(leftBeside)) rmSync(path, { force: true });
}

/** Steps of it that fail too leave both the former files and the new ones, for `finishTogether`; the first failure is told. */
function putBack(paths: readonly string[], moved: readonly string[], placed: readonly string[]): void {
  try {
    for (const path of placed.toReversed()) renameSync(path, partialOf(path));
    for (const path of moved.toReversed()) renameSync(formerOf(path), path);
    for (const path of paths.toReversed()) rmSync(partialOf(path), { force: true });
  } catch {
    // What stands there is whole under other names.
  }
}

interface Ending {
  readonly renames: readonly (readonly [from: string, to: string])[];
  readonly removals: readonly string[];
}

/**
 * Ends what an end in the middle of `writeTogether` broke off: with the new files where the last of the former ones had been
 * taken from its place, all new ones being whole then, and else with the former ones. Nothing happens where nothing was
 * broken off.
 *
 * @param paths as `writeTogether` had them, and those that it may have had
 * @throws ConfigurationError FILE_UNREADABLE where another command is writing them now; FILE_UNWRITABLE with what to rename
 */
export function finishTogether(paths: readonly string[]): void {
  const folder = dirname(paths[0]!);
  const names = namesIn(folder);
  for (const by of new Set(names.flatMap((name) => Number(marked.exec(name)?.[2] ?? [])))) {
    const ending = endingOf(names, paths, by);
    if (ending === undefined) continue;
    if (isWriting(folder, by)) throw busy(folder, by);
    try {
      for (const [from, to] of ending.renames) renameSync(from, to);
      syncFolder(folder);
      for (const path of ending.removals) rmSync(path, { force: true });
    } catch (error) {
      throw unfinished(folder, ending, error);
    }
  }
}

/** None of a folder that cannot be listed: whoever reads a file of it is told why. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** @returns undefined where the process had changed nothing yet */
function endingOf(names: readonly string[], paths: readonly string[], by: number): Ending | undefined {
  const folder = dirname(paths[0]!);
  const at = (name: string): string => join(folder, name);
  const isThere = (path: string): boolean => names.includes(basename(path));
  const formers = names.filter((name) => name.endsWith(`.former-${by}`)).map(at);
  const partials = paths.map((path) => partialOf(path, by)).filter(isThere);
  const [first, last] = [paths[0]!, paths.at(-1)!];
  const isWhole = isThere(partialOf(last, by));
  const hasBegun = formers.length > 0 || (isWhole && !isThere(partialOf(first, by)));
  if (!hasBegun) return undefined;
  const places = (from: readonly string[]): Ending['renames'] =>
    from.map((path) => [path, at(marked.exec(basename(path))![1]!)] as const);
  if (isThere(last))
    return isWhole ? { renames: places(formers), removals: partials } : { renames: [], removals: formers };
  return isWhole ? { renames: places(partials), removals: formers } : { renames: places(formers), removals: partials };
}

/** Renames take no longer, in milliseconds: after that, another process has the number. */
const renamesMax = 60_000;

function isWriting(folder: string, by: number): boolean {
  if (by === process.pid || Date.now() - statSync(folder).mtimeMs > renamesMax) return false;
  try {
    return process.kill(by, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function busy(folder: string, by: number): ConfigurationError {
  return new ConfigurationError('FILE_UNREADABLE', {
    expected: `${folder} while no command writes it`,
    got: `process ${by} is writing it`,
    rule: 'arguments of this command',
    action: 'try again in a minute',
  });
}

function unfinished(folder: string, { renames, removals }: Ending, error: unknown): ConfigurationError {
  const moves = renames.map(([from, to]) => `rename ${basename(from)} to ${basename(to)}`);
  const steps = [...moves, ...removals.map((path) => `remove ${basename(path)}`)];
  return new ConfigurationError('FILE_UNWRITABLE', {
    expected: `leave to write ${folder}, where a command was ended while it wrote`,
    got: reasonOf(error),
    rule: 'arguments of this command',
    action: `run this where the folder can be written, or, in this order, ${steps.join(', ')}`,
  });
}

/** Names in it outlast a loss of power from then on, where the file system flushes folders at all. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    closeSync(folder);
  }
}
