/** Encrypted shards in, records in block order out. A shard that is not this one of this data set never gets through. */
import { Rejection, toHex } from '#attestation/base';
import { shardAssociatedData, type DatasetManifest } from '#attestation/records';
import { open, seal } from './aead.js';

/**
 * @param ciphertext  as stored, 16-byte tag at the end
 * @returns records of features and one label byte each; their content is judged when all of them are there (job.ts)
 * @throws Rejection SHARD_INDEX, SHARD_LENGTH, SHARD_DIGEST, SHARD_AUTHENTICATION
 */
export async function openShard(
  dataset: DatasetManifest,
  index: number,
  ciphertext: Uint8Array,
  key: Uint8Array,
): Promise<Uint8Array> {
  const shard = dataset.shards[index];
  if (shard === undefined) {
    throw refused('SHARD_INDEX', `a shard below ${dataset.shards.length}`, `${index}`);
  }
  if (ciphertext.length !== shard.bytes) {
    throw refused('SHARD_LENGTH', `shard ${index} of ${shard.bytes} bytes`, `${ciphertext.length}`);
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', ciphertext as Uint8Array<ArrayBuffer>));
  if (toHex(digest) !== toHex(shard.sha256)) {
    throw refused('SHARD_DIGEST', `shard ${index} with SHA-256 ${toHex(shard.sha256)}`, toHex(digest));
  }
  const associatedData = shardAssociatedData(dataset, index);
  const what = `shard ${index} of data set ${toHex(dataset.id)}`;
  return open('SHARD_AUTHENTICATION', what, key, shard.nonce, ciphertext, associatedData);
}

/** @returns ciphertext and tag, as it is stored; its nonce stands in the manifest */
export function sealShard(
  dataset: Parameters<typeof shardAssociatedData>[0],
  index: number,
  records: Uint8Array,
  { key, nonce }: { readonly key: Uint8Array; readonly nonce: Uint8Array },
): Promise<Uint8Array> {
  return seal(key, nonce, records, shardAssociatedData(dataset, index));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, shards',
    action: 'fetch the shard again from its owner, or seal the data set again',
  });
}
