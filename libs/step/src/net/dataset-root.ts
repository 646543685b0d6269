/** Dataset root of record layout 2 (libs/step/DATA.md §2). */
import { taggedDigest } from '#attestation/base';
import { merkleRoot } from '../merkle.js';
import { layoutDigest, type DataHeader } from './header.js';

/**
 * Of one set of a data set, training or validation: binds its header and its blocks.
 *
 * @param dataDigests of its superblocks in order; a superblock of a validation set is one block
 * @throws Rejection MERKLE_EMPTY
 */
export function netDatasetRoot(header: DataHeader, dataDigests: readonly Uint8Array[]): Uint8Array {
  return taggedDigest('veritrain/dataset/v2', layoutDigest(header), merkleRoot(dataDigests));
}
