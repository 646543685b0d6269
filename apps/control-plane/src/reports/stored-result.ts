/** What a seal binds of a result, computed from the stored ciphertext: the node's word on it would reach the bundle. */
import { createHash } from 'node:crypto';
import { fromHex, to0x } from '#attestation/base';
import { chunkBytes, chunkListDigest, chunksMax } from '#attestation/records';
import type { LeaseDeliver } from '#libs/wire';
import type { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';

interface StoredResult {
  readonly bytes: number;
  /** contracts/SPEC.md §12, 0x-hexadecimal. */
  readonly ciphertextDigest: string;
}

const bytesMax = chunkBytes * chunksMax;
const rule = 'contracts/SPEC.md §12';

/** @throws Rejection BLOB_UNKNOWN, DELIVERY_CIPHERTEXT where it is larger than any result; CollateralError BLOB_CORRUPT */
export async function readStoredResult(blobs: Pick<BlobStore, 'open'>, blob: string): Promise<StoredResult> {
  const digests: Uint8Array[] = [];
  let [hash, filled, bytes] = [createHash('sha256'), 0, 0];
  const close = (): void => {
    digests.push(fromHex(hash.digest('hex')));
    [hash, filled] = [createHash('sha256'), 0];
  };
  for await (const given of await blobs.open(blob)) {
    let rest = given as Uint8Array;
    bytes += rest.length;
    if (bytes > bytesMax) throw refused(`at most ${bytesMax} bytes of ciphertext`, 'more');
    while (rest.length > 0) {
      const part = rest.subarray(0, chunkBytes - filled);
      hash.update(part);
      filled += part.length;
      rest = rest.subarray(part.length);
      if (filled === chunkBytes) close();
    }
  }
  if (filled > 0) close();
  return { bytes, ciphertextDigest: to0x(chunkListDigest(bytes, digests)) };
}

/** @throws Rejection DELIVERY_CIPHERTEXT */
export function checkStoredResult(result: LeaseDeliver['result'], stored: StoredResult): void {
  for (const name of ['bytes', 'ciphertextDigest'] as const) {
    if (result[name] !== stored[name])
      throw refused(`${name} ${stored[name]}, of the stored ciphertext`, `${result[name]}`);
  }
}

function refused(expected: string, got: string) {
  const action = 'Deliver the ciphertext that the enclave made, and what its seal binds of it.';
  return refusal('DELIVERY_CIPHERTEXT', { expected, got, rule, action });
}
