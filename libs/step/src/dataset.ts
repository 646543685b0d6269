/**
 * Dataset root: the Merkle root over the data digests of a data set's superblocks, in order (libs/step/SPEC.md §17.2).
 */
import { equalBytes } from '#attestation/base';
import { dataDigest } from './commitment.js';
import { refuse } from './errors.js';
import type { JobManifest } from './job-manifest.js';
import { merkleRoot } from './merkle.js';
import { orderSize } from './order.js';
import { recordBytes, superblockBytes, superblockRecords } from './records.js';

export interface DatasetCommitment {
  readonly root: Uint8Array;
  /** One per superblock, in order; kept by whoever makes or checks paths. */
  readonly dataDigests: readonly Uint8Array[];
}

/**
 * Commits to shuffled records; those beyond the last whole superblock are not bound.
 *
 * @throws Rejection RECORDS_LENGTH, ORDER_TOO_FEW_RECORDS, COMMITMENT_SCHEME
 */
export async function commitDataset(scheme: string, m: JobManifest, records: Uint8Array): Promise<DatasetCommitment> {
  const size = recordBytes(m);
  if (records.length % size !== 0) refuse('RECORDS_LENGTH', `whole records of ${size} bytes`, records.length, rule);
  const { superblocks } = orderSize(m, records.length / size);
  const dataDigests = await Promise.all(
    Array.from({ length: superblocks }, (_, index) => dataDigest(scheme, index, superblockRecords(m, records, index))),
  );
  return { root: datasetRoot(dataDigests), dataDigests };
}

export function datasetRoot(dataDigests: readonly Uint8Array[]): Uint8Array {
  return merkleRoot(dataDigests);
}

/**
 * Checks a run of consecutive superblocks, for example one decrypted shard, against registered data digests.
 *
 * @param firstIndex superblock index of the first record
 * @throws Rejection RECORDS_LENGTH, DATA_DIGEST naming the superblock
 */
export async function checkSuperblocks(
  scheme: string,
  m: JobManifest,
  records: Uint8Array,
  firstIndex: number,
  dataDigests: readonly Uint8Array[],
): Promise<void> {
  const size = superblockBytes(m);
  if (records.length === 0 || records.length % size !== 0) {
    refuse('RECORDS_LENGTH', `whole superblocks of ${size} bytes`, records.length, rule);
  }
  await Promise.all(
    Array.from({ length: records.length / size }, async (_, i) => {
      const index = firstIndex + i;
      const expected = dataDigests[index];
      const found = await dataDigest(scheme, index, superblockRecords(m, records, i));
      if (!expected || !equalBytes(found, expected)) {
        refuse('DATA_DIGEST', `superblock ${index} as registered`, 'other records', rule);
      }
    }),
  );
}

const rule = 'libs/step/SPEC.md §17.2';
