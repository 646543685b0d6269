/** Encrypted shards in, records in block order out. A shard that is not this one of this data set never gets through. */
import { Rejection, toHex } from '#attestation/base';
import { shardAt, shardCount, type SealedDataset } from '#attestation/records';
import { open, seal } from './aead.js';

/**
 * @param ciphertext  as stored, 16-byte tag at the end
 * @param index       through both sets of a data set of layout 2, the training set first
 * @returns records of features and label each; their content is judged when all of them are there (job.ts)
 * @throws Rejection SHARD_INDEX, SHARD_LENGTH, SHARD_DIGEST, SHARD_AUTHENTICATION
 */
export async function openShard(
  dataset: SealedDataset,
  index: number,
  ciphertext: Uint8Array,
  key: Uint8Array,
): Promise<Uint8Array> {
  const shard = shardAt(dataset, index);
  if (shard === undefined) {
    throw refused('SHARD_INDEX', `a shard below ${shardCount(dataset)}`, `${index}`);
  }
  if (ciphertext.length !== shard.bytes) {
    throw refused('SHARD_LENGTH', `shard ${index} of ${shard.bytes} bytes`, `${ciphertext.length}`);
  }
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', ciphertext as Uint8Array<ArrayBuffer>));
  if (toHex(digest) !== toHex(shard.sha256)) {
    throw refused('SHARD_DIGEST', `shard ${index} with SHA-256 ${toHex(shard.sha256)}`, toHex(digest));
  }
  const what = `shard ${index} of data set ${toHex(dataset.id)}`;
  return open('SHARD_AUTHENTICATION', what, key, shard.nonce, ciphertext, shard.associatedData);
}

/**
 * @param associatedData  of `shardAssociatedData` or `netShardAssociatedData`
 * @returns ciphertext and tag, as it is stored; its nonce stands in the manifest
 */
export function sealShard(
  associatedData: Uint8Array,
  records: Uint8Array,
  { key, nonce }: { readonly key: Uint8Array; readonly nonce: Uint8Array },
): Promise<Uint8Array> {
  return seal(key, nonce, records, associatedData);
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, shards',
    action: 'fetch the shard again from its owner, or seal the data set again',
  });
}
