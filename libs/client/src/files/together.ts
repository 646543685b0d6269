/** Files that belong together: written whole or not at all, also where a kill or a loss of power comes in between. */
import { randomBytes } from 'node:crypto';
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

/** @param by one write: its process, and what another process of the same number, such as one in a container, has not */
const newOf = (path: string, by: string): string => `${path}.new-${by}`;
const formerOf = (path: string, by: string): string => `${path}.former-${by}`;
/** `writeWhole` has partial ones, which nobody knows to be whole. */
const marked = /^(.+)\.(new|former|partial)-(\d+(?:-[0-9a-f]{8})?)$/;

/**
 * Writes files of one folder: beside their places first, and into them when all are whole and on the disk. Where that fails,
 * what stood there stands there again; `finishTogether` ends what a kill or a loss of power broke off. The last of them is
 * gone before any other changes and comes back after all: an end in between leaves the others without it. Who could not read
 * a former file cannot read the new one.
 *
 * @param gone files that go with the former ones
 * @throws ConfigurationError FILE_UNWRITABLE, FILE_UNREADABLE
 */
export function writeTogether(
  files: readonly (readonly [path: string, data: Uint8Array | string])[],
  gone: readonly string[] = [],
): void {
  const paths = files.map(([path]) => path);
  const folder = dirname(paths[0]!);
  const by = `${process.pid}-${randomBytes(4).toString('hex')}`;
  const moved: string[] = [];
  const placed: string[] = [];
  let current = '';
  try {
    for (const [path, data] of files) {
      current = path;
      mkdirSync(folder, { recursive: true });
      const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o666) & 0o666;
      writeFileSync(newOf(path, by), data, { mode, flush: true });
    }
    syncFolder(folder);
    finishTogether(paths, gone);
    for (current of [...gone, ...paths.toReversed()]) {
      if (!(statSync(current, { throwIfNoEntry: false })?.isFile() ?? false)) continue;
      renameSync(current, formerOf(current, by));
      moved.push(current);
    }
    for (current of paths) {
      renameSync(newOf(current, by), current);
      placed.push(current);
    }
    syncFolder(folder);
  } catch (error) {
    putBack(paths, moved, placed, by);
    throw error instanceof ConfigurationError ? error : unwritable('file', current, error);
  }
  for (const path of [...moved.map((one) => formerOf(one, by)), ...abandoned(folder, [...paths, ...gone])])
    rmSync(path, { force: true });
}

/** No file is written for longer, in milliseconds. */
const writingMax = 3_600_000;

/** What ends before anything took its place left beside files. */
function abandoned(folder: string, paths: readonly string[]): readonly string[] {
  return [...namesIn(folder)].flatMap((name) => {
    const [, of = '', mark] = marked.exec(name) ?? [];
    const path = join(folder, name);
    if (mark === 'former' || !paths.includes(join(folder, of))) return [];
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    return Date.now() - written > writingMax ? [path] : [];
  });
}

/** Steps of it that fail too leave both the former files and the new ones, for `finishTogether`; the first failure is told. */
function putBack(paths: readonly string[], moved: readonly string[], placed: readonly string[], by: string): void {
  try {
    for (const path of placed.toReversed()) renameSync(path, newOf(path, by));
    for (const path of moved.toReversed()) renameSync(formerOf(path, by), path);
    for (const path of paths.toReversed()) rmSync(newOf(path, by), { force: true });
  } catch {
    // What stands there is whole under other names.
  }
}

interface Ending {
  readonly renames: readonly (readonly [from: string, to: string])[];
  readonly removals: readonly string[];
  /** Whether the files are whole without it. */
  readonly isTidying: boolean;
}

/**
 * Ends what an end in the middle of `writeTogether` broke off: with the new files where the last of the former ones had been
 * taken from its place, all new ones being whole then, and else with the former ones. Nothing happens where nothing was
 * broken off. It waits for one that is writing.
 *
 * @param paths as `writeTogether` had them, and those that it may have had
 * @param gone those that may have gone with the former ones
 * @throws ConfigurationError FILE_UNREADABLE where another command goes on writing them; FILE_UNWRITABLE with what to rename
 */
export function finishTogether(paths: readonly string[], gone: readonly string[] = []): void {
  const folder = dirname(paths[0]!);
  for (const by of new Set([...namesIn(folder)].flatMap((name) => marked.exec(name)?.[3] ?? []))) {
    const ending = settledEnding(paths, gone, by);
    if (ending === undefined) continue;
    try {
      for (const [from, to] of ending.renames) renameSync(from, to);
      syncFolder(folder);
      for (const path of ending.removals) rmSync(path, { force: true });
    } catch (error) {
      if (!ending.isTidying) throw unfinished(folder, ending, error);
    }
  }
}

/** Not of folders; none of a folder that cannot be listed: whoever reads a file of it is told why. */
function namesIn(folder: string): ReadonlySet<string> {
  try {
    const found = readdirSync(folder, { withFileTypes: true });
    return new Set(found.filter((one) => !one.isDirectory()).map(({ name }) => name));
  } catch {
    return new Set();
  }
}

/** @returns undefined where the write had changed nothing yet, or is over */
function endingOf(paths: readonly string[], gone: readonly string[], by: string): Ending | undefined {
  const names = namesIn(dirname(paths[0]!));
  const isThere = (path: string): boolean => names.has(basename(path));
  const [formers, made] = [
    [...paths, ...gone].map((path) => [formerOf(path, by), path] as const).filter(([from]) => isThere(from)),
    paths.map((path) => [newOf(path, by), path] as const).filter(([from]) => isThere(from)),
  ];
  const [first, last] = [paths[0]!, paths.at(-1)!];
  const isWhole = isThere(newOf(last, by));
  const hasBegun = formers.length > 0 || (isWhole && !isThere(newOf(first, by)));
  if (!hasBegun) return undefined;
  const isTidying = isThere(last);
  // Where the last one is there, so are the others; what stands in a place again has come after the former one.
  const renames = isTidying ? formers.filter(([, to]) => isWhole && !isThere(to)) : isWhole ? made : formers;
  const removals = [...formers, ...made].filter((one) => !renames.includes(one)).map(([from]) => from);
  return { renames, removals, isTidying };
}

/** Renames take no longer, in milliseconds: after that, another process has the number. */
const renamesMax = 60_000;
/** Nor does any of them: after that, one whose process is not seen from here, such as one in a container, is over. */
const renameMax = 2_000;
const pauseMilliseconds = 100;

/** Of a write that is over. */
function settledEnding(paths: readonly string[], gone: readonly string[], by: string): Ending | undefined {
  const folder = dirname(paths[0]!);
  for (let waited = 0; endingOf(paths, gone, by) !== undefined; waited += pauseMilliseconds) {
    if (!isWriting(folder, by)) return endingOf(paths, gone, by);
    if (waited > renamesMax) throw busy(folder, by);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
  }
  return undefined;
}

function isWriting(folder: string, by: string): boolean {
  const still = Math.abs(Date.now() - statSync(folder).mtimeMs);
  return still <= renameMax || (still <= renamesMax && isAlive(Number.parseInt(by)));
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function busy(folder: string, by: string): ConfigurationError {
  return new ConfigurationError('FILE_UNREADABLE', {
    expected: `${folder} while no command writes it`,
    got: `process ${Number.parseInt(by)} is writing it`,
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

const failures = ['EIO', 'ENOSPC', 'EDQUOT'];

/** Names in it outlast a loss of power from then on, where the system opens and flushes folders at all, as Windows does not. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch (error) {
    if (failures.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
