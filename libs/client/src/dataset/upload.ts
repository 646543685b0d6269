/** The upload of a sealed data set's shards. */
import { to0x } from '#attestation/base';
import { sealedDatasetJson, shardAt, shardCount, type SealedDataset } from '#attestation/records';
import type { ControlPlaneApi } from '../api/api.js';
import { readBytes } from '../files/files.js';
import { shardPath } from './files.js';
import type { Watch } from './watch.js';

/**
 * Shards that are there from an earlier upload, whole or interrupted, are not sent again.
 *
 * @throws Rejection DATASET_DUPLICATE, DATASET_QUOTA; ConfigurationError FILE_*; CollateralError CONTROL_PLANE_UNREACHABLE
 */
export async function uploadDataset(
  folder: string,
  dataset: SealedDataset,
  api: Pick<ControlPlaneApi, 'post' | 'put'>,
  { onProgress, signal }: Watch,
): Promise<void> {
  const manifest = sealedDatasetJson(dataset);
  const { shards } = await api.post<{ shards: { uploaded: boolean }[] }>('datasets', { manifest });
  const bytesOf = (index: number): number => shardAt(dataset, index)!.bytes;
  const indices = [...Array(shardCount(dataset)).keys()];
  const of = indices.reduce((sum, index) => sum + bytesOf(index), 0);
  let done = 0;
  for (const index of indices) {
    signal?.throwIfAborted();
    if (shards[index]?.uploaded !== true) {
      await api.put(
        `datasets/${to0x(dataset.id)}/shards/${index}`,
        readBytes(shardPath(folder, index), bytesOf(index)),
      );
    }
    done += bytesOf(index);
    onProgress?.({ stage: 'upload', done, of, unit: 'bytes' });
  }
}
