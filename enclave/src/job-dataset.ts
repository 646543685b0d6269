/** A job's data set against its spec and its manifest, in either record layout (enclave/SPEC.md, job). */
import { Rejection, toHex } from '#attestation/base';
import { isNetDataset, type JobSpec, type NetDatasetManifest, type SealedDataset } from '#attestation/records';
import {
  checkHeaderFits,
  classCount,
  featureCount,
  isNet,
  netRecordLayout,
  parseDataHeader,
  type JobManifest,
  type NetManifest,
} from '#libs/step';

/** @throws Rejection JOB_DATASET naming what disagrees, HEADER_* */
export function checkDataset(spec: JobSpec, manifest: JobManifest, dataset: SealedDataset): void {
  agree('data set id', toHex(spec.dataset.id), toHex(dataset.id));
  agree('dataset root', toHex(spec.dataset.root), toHex(dataset.root));
  agree('records', spec.dataset.records, dataset.records);
  agree('shards', spec.dataset.shards, dataset.shards.length);
  agree('batch', manifest.batch, dataset.batch);
  agree('superblock', manifest.superblock, dataset.superblock);
  agree('record layout', isNet(manifest) ? 2 : 1, dataset.version);
  if (isNetDataset(dataset)) return checkLayoutTwo(spec, manifest as NetManifest, dataset);
  if (isNet(manifest)) return;
  agree('scheme', schemeOf(spec), schemeOf(dataset));
  agree('features', featureCount(manifest), dataset.features);
  agree('classes', classCount(manifest), dataset.classes);
}

function checkLayoutTwo(spec: JobSpec, manifest: NetManifest, dataset: NetDatasetManifest): void {
  agree('scheme', spec.scheme, 'state-keccak');
  checkHeaderFits(manifest, parseDataHeader(dataset.header));
  agree('bytes of a record', netRecordLayout(manifest).recordBytes, dataset.recordBytes);
  const { validation } = spec;
  if (validation === undefined) return;
  if (dataset.validation === null) return agree('a validation set', true, false);
  agree('validation root', toHex(validation.root), toHex(dataset.validation.root));
  agree('validation records', validation.records, dataset.validation.records);
  agree('validation batch', manifest.evaluate!.batch, dataset.validation.batch);
}

function schemeOf({ scheme, proving }: Pick<JobSpec, 'scheme'> & { proving: { profile: string } | null }): string {
  return proving === null ? scheme : `${scheme} under ${proving.profile}`;
}

function agree(what: string, expected: string | number | boolean, got: string | number | boolean): void {
  if (expected === got) return;
  throw new Rejection('JOB_DATASET', {
    expected: `${what} ${expected}`,
    got: String(got),
    rule: 'enclave/SPEC.md, job',
    action: 'submit a job whose parts belong together',
  });
}
