/** Files of a log in a directory: each whole or not there, and on the disk before the call returns. */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface LogStore {
  /** @param path  as in tlog-tiles, below the log's prefix */
  read(path: string): Promise<Uint8Array | null>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}

/** With what takes away files that nobody needs any more. */
export interface LogFiles extends LogStore {
  writtenAt(path: string): Promise<Date | null>;
  remove(path: string): Promise<void>;
  /** Names of the files in a folder; of one that is not there, none. */
  list(folder: string): Promise<readonly string[]>;
}

export function createFileStore(directory: string): LogFiles {
  const at = (path: string): string => join(directory, path);
  return {
    read: async (path) => {
      const bytes = await present(readFile(at(path)));
      return bytes === undefined ? null : new Uint8Array(bytes);
    },
    write: (path, bytes) => writeWhole(at(path), bytes),
    writtenAt: async (path) => (await present(stat(at(path))))?.mtime ?? null,
    remove: (path) => rm(at(path), { force: true }),
    list: async (folder) => (await present(readdir(at(folder)))) ?? [],
  };
}

async function present<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

let count = 0;

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}-${count++}.tmp`;
  const file = await open(temporary, 'w', 0o644);
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
