/** Files of a log in a directory: each whole or not there, and on the disk before the call returns. */
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface LogStore {
  /** @param path  as in tlog-tiles, below the log's prefix */
  read(path: string): Promise<Uint8Array | null>;
  write(path: string, bytes: Uint8Array): Promise<void>;
}

export function createFileStore(directory: string): LogStore {
  return {
    read: async (path) => {
      try {
        return new Uint8Array(await readFile(join(directory, path)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
        throw error;
      }
    },
    write: (path, bytes) => writeWhole(join(directory, path), bytes),
  };
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
