/** Files that commands read and write, with limits and plain failures. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';

/** @throws ConfigurationError FILE_UNREADABLE, FILE_TOO_LARGE */
export function readBytes(path: string, bytesMax: number): Uint8Array {
  let size: number;
  try {
    size = statSync(path).size;
  } catch (error) {
    throw unreadable(path, error);
  }
  if (size > bytesMax) {
    throw new ConfigurationError('FILE_TOO_LARGE', {
      expected: `${path} of at most ${bytesMax} bytes`,
      got: `${size} bytes`,
      rule: 'limits of this command',
    });
  }
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** @throws ConfigurationError FILE_UNREADABLE, FILE_TOO_LARGE, FILE_NOT_JSON */
export function readJson(path: string, bytesMax = 16 * 1024 * 1024): unknown {
  const bytes = readBytes(path, bytesMax);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ConfigurationError('FILE_NOT_JSON', {
      expected: `${path}: JSON`,
      got: 'something else',
      rule: 'RFC 8259',
    });
  }
}

const partialOf = (path: string): string => `${path}.partial-${process.pid}`;

/**
 * Writes whole or not at all; makes the folder.
 *
 * @param mode file permissions, for example 0o600 for secrets
 * @throws ConfigurationError FILE_UNWRITABLE
 */
export function writeWhole(path: string, data: Uint8Array | string, mode = 0o644): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(partialOf(path), data, { mode, flush: true });
    renameSync(partialOf(path), path);
  } catch (error) {
    rmSync(partialOf(path), { force: true });
    throw unwritable('file', path, error);
  }
}

/** Makes a folder that results go to, before the work for them begins. @throws ConfigurationError FILE_UNWRITABLE */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw unwritable('folder', path, error);
  }
}

/** What the system's codes say of a path. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: 'no leave to open it (EACCES)',
  EISDIR: 'a folder (EISDIR)',
  ENOENT: 'nothing there (ENOENT)',
  ENOTDIR: 'a path through what is no folder (ENOTDIR)',
  ENOSPC: 'no space left (ENOSPC)',
  EDQUOT: 'no space left of what this user may fill (EDQUOT)',
};
const full = ['ENOSPC', 'EDQUOT'];

/** Whether the system refused to write because a disk is full. */
function isFull(error: unknown): boolean {
  return full.includes((error as Partial<NodeJS.ErrnoException> | null)?.code ?? '');
}

/** What the system says of a path, in words. */
export function reasonOf(error: unknown): string {
  const { code = 'an error' } = error as NodeJS.ErrnoException;
  return reasons[code] ?? code;
}

/** As an error of this command. */
export function unwritable(what: 'file' | 'folder', path: string, error: unknown): ConfigurationError {
  return new ConfigurationError('FILE_UNWRITABLE', {
    expected: `a ${what} that can be written at ${path}`,
    got: reasonOf(error),
    rule: 'arguments of this command',
    action: isFull(error) ? freeing : 'name another path, or see what stands there',
  });
}

const freeing = 'free some space, or name a path on another disk';

/** @returns what a full disk says wherever it is met; null for any other error */
export function fullDisk(error: unknown): ConfigurationError | null {
  if (!isFull(error)) return null;
  const { path = `the disk; working folders are in ${tmpdir()}` } = error as NodeJS.ErrnoException;
  return unwritable('file', path, error);
}

export function unreadable(path: string, error: unknown): ConfigurationError {
  return new ConfigurationError('FILE_UNREADABLE', {
    expected: `a readable file at ${path}`,
    got: reasonOf(error),
    rule: 'arguments of this command',
    action: actionOn(path, error),
  });
}

function actionOn(path: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EISDIR') {
    const inside = ['manifest.json', 'job.vtb'].map((name) => join(path, name)).filter((file) => existsSync(file));
    return inside.length === 0 ? 'name a file in it' : `name a file in it, such as ${inside.join(' or ')}`;
  }
  const maker = code === 'ENOENT' ? makers[basename(path)] : undefined;
  if (maker !== undefined) return `check the path; ${maker}`;
  if (code === 'ENOTDIR') return `check the path: ${dirname(path)} is no folder`;
  return 'check the path, and that you may read it';
}

/** What makes a file that a folder of a plan, a model or a data set has. */
const makers: Readonly<Record<string, string>> = {
  'manifest.json': '`model init` writes it into a plan, `train` and `job result` into a model',
  'weights.bin': '`train` and `job result` write it: a plan alone is no model yet',
  'header.json': 'the folder of a plan or model belongs together, so copy all of it',
  'start.bin': '`model import` writes it beside the manifest, so copy the folder of the plan whole',
  'dataset.json': '`dataset seal` writes it into the folder of a sealed data set',
  'job.vtb': '`job result` writes it',
  'client.json': '`npm run serve` writes one, or name yours with --profile',
};
