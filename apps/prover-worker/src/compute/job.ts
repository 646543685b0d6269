/** A job in the computing process: its records, its commitments, and the argument system that proves it. */
import { equalBytes, Rejection, toHex, type Digest } from '#attestation/base';
import { jobIdOf, parseDatasetManifest, parseJobSpec, type JobSpec } from '#attestation/records';
import type { ProofEscrow } from '#libs/proof';
import {
  checkBounds,
  datasetRoot,
  initialWeights,
  parseManifestText,
  splitRecords,
  type Examples,
  type Weights,
} from '#libs/step';
import type { JobCommitments } from '#libs/zk/commit';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import { groth16SchemeId } from '#libs/zk/verifier';
import { openGroth16 } from './groth16.js';
import { openSumcheck } from './sumcheck.js';
import type { JobFacts, ProofSystem } from './system.js';

export interface JobInput {
  /** Deterministic CBOR. */
  readonly spec: Uint8Array;
  /** Parsed JSON. */
  readonly dataset: unknown;
  readonly escrow: ProofEscrow;
  /** weightsDigest of the start, as the escrow's terms have it. */
  readonly initialWeights: Uint8Array;
  readonly dataKey: Uint8Array;
  /** The host's half of the key of checkpoints. */
  readonly hostSecret: Uint8Array;
  /** All records in block order, decrypted. */
  readonly records: Uint8Array;
}

export interface Limits {
  readonly threads: number;
  /** Of the linear memory. Half as much again holds commitments that later proofs of the job open. */
  readonly memoryMiB: number;
  /** Folder of the Groth16 keys that this node proves with. */
  readonly groth16Keys?: string | undefined;
}

export interface ComputedJob extends JobFacts {
  readonly examples: Examples;
  readonly commitments: JobCommitments;
  readonly system: ProofSystem;
  readonly start: Weights;
  /** weightsDigest of `start`. */
  readonly startBorder: Digest;
}

/**
 * @throws Rejection JOB_PROVING, STEP_PLAN, DATASET_ROOT, RECORDS_LENGTH, LABEL_RANGE, MANIFEST_*, STEP_RANGE_*,
 *   JOB_ESCROW, GROTH16_SHAPE, GROTH16_KEY; ConfigurationError GROTH16_KEY_MISSING
 */
export function openJob(input: JobInput, limits: Limits): ComputedJob {
  const { spec: encoded, dataset: json, escrow, dataKey, hostSecret, records } = input;
  const spec = parseJobSpec(encoded);
  const manifest = parseManifestText(spec.manifest);
  checkBounds(manifest, 'proved');
  const dataset = parseDatasetManifest(json);
  const secret = { jobId: jobIdOf(spec), dataKey };
  const facts: JobFacts = { spec, manifest, secret, sealing: { ...secret, hostSecret }, escrow };
  const system =
    spec.scheme === groth16SchemeId
      ? openGroth16(facts, dataset, limits.groth16Keys, { memoryBytesMax: limits.memoryMiB * 2 ** 20 })
      : openSumcheck(facts, dataset, limits.memoryMiB * 2 ** 19);
  checkRoot(spec, system.digests);
  const examples = splitRecords(manifest, records);
  const commitments = commitmentsOfJob(spec, manifest, facts.secret);
  const start = initialWeights(manifest);
  const startBorder = commitments.border(0, start);
  checkStart(startBorder, input.initialWeights);
  return { ...facts, examples, commitments, system, start, startBorder };
}

/** The contract takes no run that starts elsewhere. */
function checkStart(expected: Uint8Array, got: Uint8Array): void {
  if (equalBytes(expected, got)) return;
  throw new Rejection('JOB_ESCROW', {
    expected: `start weights ${toHex(expected)}`,
    got: toHex(got),
    rule: 'contracts/SPEC.md §3',
    action: 'open an escrow whose terms have the start weights of the manifest',
  });
}

function checkRoot({ dataset }: JobSpec, digests: readonly Uint8Array[]): void {
  const got = digests.length > 0 ? datasetRoot(digests) : new Uint8Array(32);
  if (equalBytes(got, dataset.root)) return;
  throw new Rejection('DATASET_ROOT', {
    expected: toHex(dataset.root),
    got: toHex(got),
    rule: 'libs/step/SPEC.md §9',
    action: 'the data set was sealed wrongly: its owner must seal it again',
  });
}
