/** Decrypted records against the dataset root of the job's spec, before anything is trained on them. */
import { equalBytes, Rejection, toHex } from '#attestation/base';
import { isNetDataset, type JobSpec, type SealedDataset } from '#attestation/records';
import {
  commitDataset,
  dataDigest,
  datasetRoot,
  isNet,
  netDatasetRoot,
  parseDataHeader,
  recordBytes,
  superblockOfStep,
  superblockRecords,
  type Examples,
  type JobManifest,
  type Manifest,
} from '#libs/step';
import { commitmentFormat, createCommitter, dataDigestOf, dataSeed, isWholeSet } from '#libs/zk/commit';

interface CommittedRecords {
  readonly spec: JobSpec;
  readonly manifest: JobManifest;
  readonly dataset: SealedDataset;
  readonly dataKey: Uint8Array;
}

/**
 * @param records all of them, in block order
 * @throws Rejection DATASET_ROOT
 */
export async function checkRecords(job: CommittedRecords, records: Uint8Array): Promise<void> {
  const { spec, manifest, dataset } = job;
  if (isNetDataset(dataset)) {
    const { dataDigests } = await commitDataset('state-keccak', manifest, records);
    return requireRoot(spec, netDatasetRoot(parseDataHeader(dataset.header), dataDigests));
  }
  if (isNet(manifest)) throw otherRecords(spec, 'records of layout 1');
  if (dataset.proving === null) {
    return requireRoot(spec, (await commitDataset(dataset.scheme, manifest, records)).root);
  }
  const { profile, commitments } = dataset.proving;
  const format = commitmentFormat(manifest, profile);
  requireRoot(spec, datasetRoot(commitments.map((commitment) => dataDigestOf(commitment, format))));
  const committer = createCommitter(format);
  const isWhole = isWholeSet(format);
  const parts = isWhole ? [0] : [...superblocksOf(manifest, dataset.records)];
  for (const index of parts) {
    const examples = unjudged(manifest, isWhole ? records : superblockRecords(manifest, records, index));
    const made = committer.data(examples, dataSeed(job.dataKey, index));
    const given = commitments[index];
    if (given && equalBytes(made.root, given.root) && equalBytes(made.ood, given.ood)) continue;
    throw otherRecords(spec, isWhole ? 'records' : `superblock ${index}`);
  }
}

/**
 * @param records of the validation set, in block order; none where the job does not evaluate
 * @throws Rejection VALIDATION_ROOT
 */
export async function checkValidation(job: CommittedRecords, records: Uint8Array): Promise<void> {
  const { spec, manifest, dataset } = job;
  if (spec.validation === undefined || !isNetDataset(dataset) || !isNet(manifest)) return;
  const block = manifest.evaluate!.batch * recordBytes(manifest);
  const digests = await Promise.all(
    Array.from({ length: Math.ceil(records.length / block) }, (_, index) =>
      dataDigest('state-keccak', index, records.subarray(index * block, (index + 1) * block)),
    ),
  );
  const root = netDatasetRoot(parseDataHeader(dataset.header), digests);
  if (!equalBytes(root, spec.validation.root)) {
    throw new Rejection('VALIDATION_ROOT', {
      expected: toHex(spec.validation.root),
      got: 'a validation set of another root',
      rule: 'libs/step/SPEC.md §25',
      action: 'the data set was sealed wrongly: its owner must seal it again',
    });
  }
}

/** Those that some step of the job reads: nothing is said of any other. */
function superblocksOf(manifest: Manifest, records: number): ReadonlySet<number> {
  const read = new Set<number>();
  for (let step = 0; step < manifest.steps; step += manifest.superblock) {
    read.add(superblockOfStep(manifest, step, records));
  }
  return read;
}

/** Reads records without judging labels: these are judged once the root is known to be that of the spec (job.ts). */
function unjudged(manifest: Manifest, records: Uint8Array): Examples {
  const size = recordBytes(manifest);
  const count = records.length / size;
  const features = new Uint8Array(count * (size - 1));
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    features.set(records.subarray(i * size, i * size + size - 1), i * (size - 1));
    labels[i] = records[i * size + size - 1]!;
  }
  return { count, features, labels };
}

function requireRoot(spec: JobSpec, root: Uint8Array): void {
  if (!equalBytes(root, spec.dataset.root)) throw otherRecords(spec, 'records');
}

function otherRecords({ dataset }: JobSpec, what: string): Rejection {
  return new Rejection('DATASET_ROOT', {
    expected: toHex(dataset.root),
    got: `${what} of another root`,
    rule: 'libs/step/SPEC.md §9',
    action: 'the data set was sealed wrongly: its owner must seal it again',
  });
}
