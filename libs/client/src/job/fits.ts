/** Whether a data set is one that a manifest was planned for: what the control plane would refuse behind the upload. */
import { Rejection } from '#attestation/base';
import { isNetDataset, type SealedDataset } from '#attestation/records';
import { checkHeaderFits, classCount, featureCount, isNet, parseDataHeader, type JobManifest } from '#libs/step';

/** @throws Rejection HEADER_FIT, JOB_DATASET_MISMATCH */
export function checkDatasetFits(manifest: JobManifest, dataset: SealedDataset): void {
  const agree = (what: string, expected: number, got: number): void => {
    if (expected === got) return;
    throw new Rejection('JOB_DATASET_MISMATCH', {
      ...{ expected: `a data set of ${what} ${expected}`, got: `${what} ${got}`, rule: 'attestation/SPEC.md §9.2' },
      action: 'give the data that were sealed for this manifest, or seal them for it (veritrain dataset seal)',
    });
  };
  agree('layout', isNet(manifest) ? 2 : 1, isNetDataset(dataset) ? 2 : 1);
  if (isNetDataset(dataset)) {
    if (isNet(manifest)) checkHeaderFits(manifest, parseDataHeader(dataset.header));
  } else if (!isNet(manifest)) {
    agree('features', featureCount(manifest), dataset.features);
    agree('classes', classCount(manifest), dataset.classes);
  }
  agree('batch', manifest.batch, dataset.batch);
  agree('superblock', manifest.superblock, dataset.superblock);
}
