/** Whether the key of a data set lies where the profile's key broker reads keys. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { to0x } from '#attestation/base';
import { readJson } from '../files/files.js';
import { keyFileBytesMax } from '../limits.js';

/** @param folder the broker's; where it is not on this machine nothing is known, and nothing said */
export function keyAdvice(folder: string, datasetId: Uint8Array): readonly string[] {
  if (!existsSync(folder)) return [];
  const id = to0x(datasetId);
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  if (files.some((name) => idIn(join(folder, name)) === id)) return [];
  return [
    `no file in ${folder}, where the profile's key broker reads keys, has the key of this data set: ` +
      'put the file of dataset seal --key there, or the broker releases none and the node refuses the job',
  ];
}

/** Undefined where the file is none of a key. */
function idIn(path: string): unknown {
  try {
    return (readJson(path, keyFileBytesMax) as { datasetId?: unknown } | null)?.datasetId;
  } catch {
    return undefined;
  }
}
