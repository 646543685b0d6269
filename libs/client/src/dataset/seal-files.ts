/** Seals IDX files into a folder: shards and dataset.json for the control plane, the data key for the key broker alone. */
import { join } from 'node:path';
import { Rejection, to0x } from '#attestation/base';
import { datasetManifestJson, type DatasetManifest } from '#attestation/records';
import { choosePlan } from '#libs/proof';
import {
  checkLabels,
  classCount,
  featureCount,
  parseIdxImages,
  parseIdxLabels,
  parseManifest,
  type Manifest,
} from '#libs/step';
import { readBytes, readJson, writeWhole } from '../files.js';
import { idxBytesMax } from '../limits.js';
import { shardPath } from './files.js';
import { sealDataset } from './seal.js';

export interface SealRequest {
  /** fxt/1 manifest, JSON file: gives batch, superblock, widths and the shuffle's seed. */
  readonly manifest: string;
  readonly images: string;
  readonly labels: string;
  /** Folder of the sealed data set. */
  readonly out: string;
  /** Where the data key goes. */
  readonly key: string;
  /** Commits in the form that step proofs open: for jobs that are proved, sampled, challenged or of high value. */
  readonly provable?: boolean | undefined;
  /** Commits besides in the form that Groth16 opens: for jobs on small models whose proofs a contract checks. */
  readonly groth16?: boolean | undefined;
  readonly recordsMax?: number | undefined;
}

/** @throws Rejection IDX_*, LABEL_RANGE, RECORDS_*, MANIFEST_*, STEP_PLAN, GROTH16_SHAPE; ConfigurationError FILE_* */
export async function sealFiles(request: SealRequest, progress: (line: string) => void): Promise<DatasetManifest> {
  const m = parseManifest(readJson(request.manifest));
  const images = parseIdxImages(readBytes(request.images, idxBytesMax));
  const labels = parseIdxLabels(readBytes(request.labels, idxBytesMax));
  checkLabels(labels, classCount(m));
  checkWidth(m, images.pixels);
  const { manifest, dataKey, shard } = await sealDataset(m, images, labels, {
    provingProfile: request.provable === true ? choosePlan(m, 'auto', 'separate').profile.name : null,
    groth16: request.groth16 === true,
    ...(request.recordsMax !== undefined && { recordsMax: request.recordsMax }),
    onSuperblock: (done, of) => progress(`committing to superblock ${done + 1} of ${of}`),
  });
  for (const index of manifest.shards.keys()) {
    writeWhole(shardPath(request.out, index), await shard(index));
    progress(`sealed shard ${index + 1} of ${manifest.shards.length}`);
  }
  const key = { datasetId: to0x(manifest.id), key: to0x(dataKey) };
  writeWhole(request.key, `${JSON.stringify(key)}\n`, 0o600);
  writeWhole(join(request.out, 'dataset.json'), `${JSON.stringify(datasetManifestJson(manifest), null, 2)}\n`);
  return manifest;
}

function checkWidth(m: Manifest, pixels: number): void {
  if (pixels === featureCount(m)) return;
  throw new Rejection('RECORDS_WIDTH', {
    expected: `${featureCount(m)} features per record`,
    got: `${pixels}`,
    rule: 'libs/step/SPEC.md §3',
    action: "use the manifest's own data, or change dims[0]",
  });
}
