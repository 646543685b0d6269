/** What a seal binds of a result, computed from the stored ciphertext: the node's word on it would reach the bundle. */
import { createHash } from 'node:crypto';
import { to0x } from '#attestation/base';
import { chunkBytes, deliveryHasher, resultChunksMax } from '#attestation/records';
import type { LeaseDeliver } from '#libs/wire';
import type { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';

interface StoredResult {
  readonly bytes: number;
  /** contracts/SPEC.md §12, 0x-hexadecimal. */
  readonly ciphertextDigest: string;
}

const bytesMax = chunkBytes * resultChunksMax;
const rule = 'contracts/SPEC.md §12';

/** @throws Rejection BLOB_UNKNOWN, DELIVERY_CIPHERTEXT where it is larger than any result; CollateralError BLOB_CORRUPT */
export async function readStoredResult(blobs: Pick<BlobStore, 'open'>, blob: string): Promise<StoredResult> {
  const hasher = deliveryHasher(() => createHash('sha256'));
  let read = 0;
  for await (const given of await blobs.open(blob)) {
    read += (given as Uint8Array).length;
    if (read > bytesMax) throw refused(`at most ${bytesMax} bytes of ciphertext`, 'more');
    hasher.update(given as Uint8Array);
  }
  const { bytes, digest } = hasher.end();
  return { bytes, ciphertextDigest: to0x(digest) };
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
