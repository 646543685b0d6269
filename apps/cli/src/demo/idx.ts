/** IDX files of a package, which may be compressed. */
import { gunzipSync } from 'node:zlib';
import { readBytes } from '#libs/client/files';

const idxBytesMax = 64 * 1024 * 1024;

/** @param path compressed where it ends in .gz */
export function readIdx(path: string): Uint8Array {
  const bytes = readBytes(path, idxBytesMax);
  return path.endsWith('.gz') ? gunzipSync(bytes, { maxOutputLength: idxBytesMax }) : bytes;
}
