/** From a job as the host hands it over to one whose every part has been checked against every other. */
import {
  concatBytes,
  equalBytes,
  jobDigest,
  Rejection,
  toHex,
  type DatasetManifest,
  type JobSpec,
  type KeyBinding,
  type Terms,
} from '#attestation';
import { checkBounds, commitDataset, parseManifestText, splitRecords, type Manifest } from '#libs/step';
import type { ReadyJob } from './trainer.js';

/** A job that lacks only its shards. */
export interface HeldJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  readonly dataset: DatasetManifest;
  readonly dataKey: Uint8Array;
  readonly terms: Terms;
  /** Decrypted records by shard index. */
  readonly shards: Map<number, Uint8Array>;
}

export interface OfferedJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly dataset: DatasetManifest;
  readonly dataKey: Uint8Array;
  readonly terms: Terms;
  readonly session: KeyBinding;
}

/** @throws Rejection MANIFEST_*, STEP_RANGE_*, JOB_DATASET, JOB_ESCROW naming the field that disagrees */
export function checkJob(offered: OfferedJob): HeldJob {
  const { spec, dataset, jobId, dataKey, terms, session } = offered;
  const manifest = parseManifestText(spec.manifest);
  checkBounds(manifest);
  agree('JOB_DATASET', 'data set id', toHex(spec.dataset.id), toHex(dataset.id));
  agree('JOB_DATASET', 'dataset root', toHex(spec.dataset.root), toHex(dataset.root));
  agree('JOB_DATASET', 'records', spec.dataset.records, dataset.records);
  agree('JOB_DATASET', 'shards', spec.dataset.shards, dataset.shards.length);
  agree('JOB_DATASET', 'features', manifest.dims[0]!, dataset.features);
  agree('JOB_DATASET', 'classes', manifest.dims.at(-1)!, dataset.classes);
  agree('JOB_DATASET', 'batch', manifest.batch, dataset.batch);
  agree('JOB_DATASET', 'superblock', manifest.superblock, dataset.superblock);
  agree('JOB_ESCROW', 'spec digest', toHex(jobId), toHex(terms.specDigest));
  agree('JOB_ESCROW', 'segments', Math.ceil(manifest.steps / spec.segmentSteps), terms.segments);
  agree('JOB_ESCROW', 'chain', spec.settlement.chainId, session.chainId);
  return { jobId, spec, manifest, dataset, dataKey, terms, shards: new Map() };
}

/** @throws Rejection SHARDS_MISSING, DATASET_ROOT, LABEL_RANGE */
export async function assembleJob(held: HeldJob): Promise<ReadyJob> {
  const parts = held.dataset.shards.map((_, index) => {
    const records = held.shards.get(index);
    if (records === undefined) {
      throw new Rejection('SHARDS_MISSING', {
        expected: `all ${held.dataset.shards.length} shards`,
        got: `no shard ${index}`,
        rule: 'enclave SPEC, shards',
        action: 'send every shard before training',
      });
    }
    return records;
  });
  const records = concatBytes(...parts);
  held.shards.clear();
  const { root } = await commitDataset(held.dataset.scheme, held.manifest, records);
  if (!equalBytes(root, held.spec.dataset.root)) {
    throw new Rejection('DATASET_ROOT', {
      expected: toHex(held.spec.dataset.root),
      got: toHex(root),
      rule: 'fixed-point §9',
      action: 'the data set was sealed wrongly: its owner must seal it again',
    });
  }
  const { jobId, spec, manifest, dataset, dataKey, terms } = held;
  const examples = splitRecords(manifest, records);
  return { jobId, escrowId: jobDigest(terms), spec, manifest, dataset, dataKey, examples };
}

function agree(code: string, what: string, expected: string | number, got: string | number): void {
  if (expected === got) return;
  throw new Rejection(code, {
    expected: `${what} ${expected}`,
    got: String(got),
    rule: 'enclave SPEC, job',
    action: 'submit a job whose parts belong together',
  });
}
