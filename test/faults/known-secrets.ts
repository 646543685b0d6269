/** Every secret of a fault run, with the places that are its owner's. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromHex } from '#attestation';
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
  const { key } = JSON.parse(readFileSync(join(profile.broker.keysFolder, 'fault-runs.json'), 'utf8')) as {
    key: string;
  };
  return [
    { name: 'the data key', bytes: fromHex(key), at: ['data-keys'] },
    secretAt('the key that results are opened with', 'recipient.test-key'),
    secretAt('the key that signs releases', 'broker/attestor.test-key'),
    secretAt('the key that signs attestation results', 'broker/result.test-key'),
    secretAt('the client’s account', 'client-account.test-key'),
    secretAt('the provider’s account', ...providerFiles(system)),
    ...plaintext(files.images).map((bytes, index) => ({ name: `record ${index} in plaintext`, bytes, at: [] })),
  ];
}

/** Every node of a site works for one account. */
function providerFiles(system: string): string[] {
  return readdirSync(system)
    .map((name) => `${name}/provider.test-key`)
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
