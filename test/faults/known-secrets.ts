/** Every secret of a fault run, with the places that are its owner's. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex } from '#attestation/base';
import type { Profile } from '#libs/client';
import { parseIdxImages } from '#libs/step';
import type { FaultClient } from './jobs.js';
import type { Secret } from './secrets.js';

const windowBytes = 48;
const windowsWanted = 12;

/** @param system  folder of the system */
export function knownSecrets(system: string, { files, profile }: FaultClient): Secret[] {
  const secretAt = (name: string, ...files: string[]): Secret => ({
    name,
    bytes: fromHex(readFileSync(join(system, files[0]!), 'utf8').trim()),
    at: files,
  });
  return [
    { name: 'the data key', bytes: dataKeyOf(profile), at: ['data-keys'] },
    secretAt('the provider’s half of the keys of checkpoints', ...filesOfProvider(system, 'host-secret.test-key')),
    secretAt('the key that results are opened with', 'recipient.test-key'),
    secretAt('the key that signs releases', 'broker/attestor.test-key'),
    secretAt('the key that signs attestation results', 'broker/result.test-key'),
    secretAt('the client’s account', 'client-account.test-key'),
    secretAt('the provider’s account', ...filesOfProvider(system, 'provider.test-key')),
    ...plaintext(files.images).map((bytes, index) => ({ name: `record ${index} in plaintext`, bytes, at: [] })),
  ];
}

/** Of the data set that all jobs are about. */
export function dataKeyOf({ broker }: Profile): Uint8Array {
  const file = join(broker.keysFolder, 'fault-runs.json');
  return fromHex((JSON.parse(readFileSync(file, 'utf8')) as { key: string }).key);
}

/** Every node of a site works for one account, and has one secret. */
export function filesOfProvider(system: string, named: string): string[] {
  return readdirSync(system)
    .map((name) => `${name}/${named}`)
    .filter((file) => existsSync(join(system, file)));
}

/** Pieces of records that nothing else looks like. */
function plaintext(imagesFile: string): Uint8Array[] {
  const { pixels, data } = imagesOf(imagesFile);
  const found: Uint8Array[] = [];
  for (let record = 0; found.length < windowsWanted && (record + 1) * pixels <= data.length; record++) {
    for (let at = record * pixels; at + windowBytes <= (record + 1) * pixels; at++) {
      const window = data.subarray(at, at + windowBytes);
      if (new Set(window).size < windowBytes / 3) continue;
      found.push(window);
      break;
    }
  }
  return found;
}

function imagesOf(file: string): { readonly pixels: number; readonly data: Uint8Array } {
  const bytes = new Uint8Array(readFileSync(file));
  const { pixels } = parseIdxImages(bytes);
  return { pixels, data: bytes.subarray(16) };
}
