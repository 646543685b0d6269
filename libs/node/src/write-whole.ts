import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file that nobody else may read, whole or not at all; it is there after a loss of power, too. */
export function writeWhole(path: string, content: Uint8Array | string): void {
  writeFileSync(`${path}.partial`, content, { mode: 0o600, flush: true });
  renameSync(`${path}.partial`, path);
  syncFolder(dirname(path));
}

/** Names in it outlast a loss of power from then on, where the file system flushes folders at all. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    closeSync(folder);
  }
}
