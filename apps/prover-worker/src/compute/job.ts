/** A job in the computing process: its plan, its records, and the seeds of its commitments. */
import {
  equalBytes,
  jobIdOf,
  parseDatasetManifest,
  parseJobSpec,
  Rejection,
  toHex,
  type DatasetManifest,
  type JobSpec,
} from '#attestation';
import { planOfJob, type ProofEscrow } from '#libs/proof';
import { checkBounds, datasetRoot, parseManifestText, splitRecords, type Examples, type Manifest } from '#libs/step';
import { jobCommitments, type Commitment, type JobCommitments, type JobSecret } from '#libs/zk/commitment';
import { dataDigestOf, type Plan } from '#libs/zk/verifier';

export interface JobInput {
  /** Deterministic CBOR. */
  readonly spec: Uint8Array;
  /** Parsed JSON. */
  readonly dataset: unknown;
  readonly escrow: ProofEscrow;
  readonly dataKey: Uint8Array;
  /** All records in block order, decrypted. */
  readonly records: Uint8Array;
}

export interface ComputedJob {
  readonly spec: JobSpec;
  readonly secret: JobSecret;
  readonly manifest: Manifest;
  readonly plan: Plan;
  readonly escrow: ProofEscrow;
  readonly examples: Examples;
  readonly data: readonly Commitment[];
  readonly digests: readonly Uint8Array[];
  readonly commitments: JobCommitments;
}

/** @throws Rejection JOB_PROVING, STEP_PLAN, DATASET_ROOT, RECORDS_LENGTH, LABEL_RANGE, MANIFEST_*, STEP_RANGE_* */
export function openJob({ spec: encoded, dataset: json, escrow, dataKey, records }: JobInput): ComputedJob {
  const spec = parseJobSpec(encoded);
  const manifest = parseManifestText(spec.manifest);
  checkBounds(manifest);
  const plan = planOfJob(spec, manifest);
  const dataset = parseDatasetManifest(json);
  const secret = { jobId: jobIdOf(spec), dataKey };
  const data = dataset.proving?.commitments ?? [];
  const digests = data.map((commitment) => dataDigestOf(commitment, plan));
  checkRoot(spec, dataset, digests);
  const examples = splitRecords(manifest, records);
  const commitments = jobCommitments(spec, manifest, secret);
  return { spec, secret, manifest, plan, escrow, examples, data, digests, commitments };
}

function checkRoot({ dataset, proving }: JobSpec, sealed: DatasetManifest, digests: readonly Uint8Array[]): void {
  const isProfile = sealed.proving?.profile === proving?.profile;
  const got = isProfile && digests.length > 0 ? datasetRoot(digests) : new Uint8Array(32);
  if (equalBytes(got, dataset.root)) return;
  throw new Rejection('DATASET_ROOT', {
    expected: toHex(dataset.root),
    got: toHex(got),
    rule: 'fixed-point §9',
    action: 'the data set was sealed wrongly: its owner must seal it again',
  });
}
