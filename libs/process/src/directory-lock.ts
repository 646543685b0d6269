/**
 * Keeps a second process out of a data directory, as PGlite and a witness's state need it. The lock file names the holder by process id and
 * start time, so a lock left by a killed process is recognised even when its id was given to another.
 */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { isAlive, thisProcess } from './alive.js';

interface DirectoryLock {
  release(): void;
}

/** @throws ConfigurationError DATA_DIRECTORY_IN_USE */
export function lockDirectory(directory: string): DirectoryLock {
  return lockFile(join(directory, 'veritrain.lock'));
}

/** The same for work that has no directory of its own. @param path of the lock file @throws ConfigurationError DATA_DIRECTORY_IN_USE */
export function lockFile(path: string): DirectoryLock {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${thisProcess()}\n`;
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      const file = openSync(path, 'wx', 0o600);
      writeSync(file, mine);
      closeSync(file);
      return { release: () => void (read(path) === mine && rmSync(path, { force: true })) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = read(path);
    if (holder !== undefined && isAlive(holder.trim())) {
      throw new ConfigurationError('DATA_DIRECTORY_IN_USE', {
        expected: 'a data directory that no other process uses',
        got: `process ${holder.split(' ')[0]}`,
        rule: 'libs/process/README.md',
        action: 'Stop that process, or choose another directory.',
      });
    }
    removeStale(path, holder);
  }
  throw new ConfigurationError('DATA_DIRECTORY_IN_USE', {
    expected: 'a lock file that can be taken',
    got: 'another process takes it first each time',
    rule: 'libs/process/README.md',
  });
}

/** Moves the stale file away and puts it back if another process had replaced it in between. */
function removeStale(path: string, stale: string | undefined): void {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (read(aside) === stale) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
