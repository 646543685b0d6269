/** The weights that a job starts from where its manifest names some: a file beside the manifest. */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { Rejection, to0x } from '#attestation/base';
import {
  decodeTensors,
  drawnParameters,
  initialWeights,
  isNet,
  parameterShapes,
  startRoot,
  startState,
} from '#libs/step';
import type { JobManifest, NetManifest, Weights } from '#libs/step';
import { keccakParts } from '#libs/zk/commit';
import type { ControlPlaneApi } from '../api.js';
import type { Watch } from '../dataset/watch.js';
import { readBytes } from '../files.js';
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

/**
 * The state before step 0.
 *
 * @param start canonical bytes of all parameters; null where the seed draws them
 * @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE, START_ROOT; START_MISSING where the manifest names weights and there are none
 */
export function startWeights(manifest: JobManifest, start: Uint8Array | null): Weights {
  if (!isNet(manifest) || manifest.start.kind === 'seed') return initialWeights(manifest);
  return startState(manifest, startParameters(manifest, start));
}

/** All parameters before step 0, frozen ones too. @param start as of `startWeights` @throws as `startWeights` */
export function startParameters(manifest: NetManifest, start: Uint8Array | null): Weights {
  if (manifest.start.kind === 'seed') return drawnParameters(manifest);
  const { root } = manifest.start;
  if (start === null) throw refused('START_MISSING', `start weights with root ${root}`, 'none');
  const parameters = decodeTensors(parameterShapes(manifest), start);
  const found = to0x(startRoot(manifest, parameters, keccakParts));
  if (found !== root) throw refused('START_ROOT', `start weights with root ${root}`, found);
  return parameters;
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

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    ...{ expected, got, rule: 'libs/step/SPEC.md §25' },
    action: 'give the start weights that the manifest names',
  });
}
