/** The weights that a job starts from where its manifest names some: a file beside the manifest. */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { startWeights } from '#libs/review';
import { isNet } from '#libs/step';
import type { JobManifest } from '#libs/step';
import type { ControlPlaneApi } from '../api/api.js';
import type { Watch } from '../dataset/watch.js';
import { readBytes } from '../files/files.js';
import { startBytesMax, startPartBytes } from '../limits.js';

/** Beside the manifest: canonical bytes of all parameters in layer order. */
const startFile = 'start.bin';

/**
 * @param manifestPath the file of the manifest
 * @returns null where the manifest's seed draws them
 * @throws ConfigurationError FILE_*; those of `startWeights`
 */
export function readStart(manifestPath: string, manifest: JobManifest): Uint8Array | null {
  if (!isNet(manifest) || manifest.start.kind === 'seed') return null;
  const bytes = readBytes(join(dirname(manifestPath), startFile), startBytesMax);
  startWeights(manifest, bytes);
  return bytes;
}

/** @returns the names of the parts, which a submission lists. @throws Rejection BLOB_QUOTA */
export async function uploadStart(
  start: Uint8Array,
  api: Pick<ControlPlaneApi, 'put'>,
  { onProgress, signal }: Watch,
): Promise<readonly string[]> {
  const names: string[] = [];
  for (let at = 0; at < start.length; at += startPartBytes) {
    signal?.throwIfAborted();
    const part = start.subarray(at, at + startPartBytes);
    const name = `0x${createHash('sha256').update(part).digest('hex')}`;
    await api.put(`blobs/${name}`, part);
    names.push(name);
    onProgress?.({ stage: 'start', done: at + part.length, of: start.length, unit: 'bytes' });
  }
  return names;
}
