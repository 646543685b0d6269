import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file that nobody else may read, whole or not at all. */
export function writeWhole(path: string, content: Uint8Array | string): void {
  writeFileSync(`${path}.partial`, content, { mode: 0o600 });
  renameSync(`${path}.partial`, path);
}
