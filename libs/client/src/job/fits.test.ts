/** A data set that was sealed for another manifest is named before it is uploaded. */
import { expect, it } from 'vitest';
import { tableData, tableNet } from '#test/net-job';
import { tinyDataset, tinyManifest } from '#test/tiny-job';
import { checkDatasetFits } from './fits.js';

it('is told by what differs', async () => {
  const [net, plain] = [tableNet(), tinyManifest({ superblock: 4 })];
  const [{ manifest: table }, { manifest: images }] = [await tableData(net), await tinyDataset(plain)];
  checkDatasetFits(net, table);
  checkDatasetFits(plain, images);
  const refused = [
    [net, images, 'JOB_DATASET_MISMATCH', 'layout 1'],
    [plain, table, 'JOB_DATASET_MISMATCH', 'layout 2'],
    [tableNet({ batch: 8 }), table, 'JOB_DATASET_MISMATCH', 'batch 4'],
    [tableNet({ superblock: 4 }), table, 'JOB_DATASET_MISMATCH', 'superblock 2'],
    [tinyManifest({ superblock: 2 }), images, 'JOB_DATASET_MISMATCH', 'superblock 4'],
    [tableNet({ input: { shape: [3], dtype: 'uint8', frac: 8 } }), table, 'HEADER_FIT', ''],
  ] as const;
  for (const [manifest, dataset, code, got] of refused) {
    const detail = { got: expect.stringContaining(got) as string, action: expect.any(String) as string };
    const expected: unknown = expect.objectContaining({ code, detail: expect.objectContaining(detail) as object });
    expect(() => checkDatasetFits(manifest, dataset)).toThrow(expected as Error);
  }
});
