/** From a job as the host hands it over to one whose every part has been checked against every other. */
import { checkpointWeightsBytesMax, concatBytes, equalBytes, isZero, Rejection, toHex } from '#attestation/base';
import {
  bordersMax,
  escrowIdOf,
  JobMode,
  specDigestOf,
  termsFit,
  type DatasetManifest,
  type JobSpec,
  type ReleasedSession,
  type Terms,
} from '#attestation/records';
import {
  canonicalManifest,
  checkBounds,
  classCount,
  divideSteps,
  featureCount,
  guardSetOf,
  initialWeights,
  parameterCount,
  parseManifestText,
  splitRecords,
  type Manifest,
} from '#libs/step';
import { jobCommitments, type JobCommitments } from '#libs/zk/commit';
import { checkRecords } from './dataset.js';
import type { JobLease } from './lease.js';
import type { Genesis, ReadyJob } from './ready-job.js';

/** A job that lacks only its shards. */
export interface HeldJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  readonly dataset: DatasetManifest;
  readonly dataKey: Uint8Array;
  readonly hostSecret: Uint8Array;
  readonly terms: Terms;
  readonly own: ReleasedSession;
  readonly commitments: JobCommitments;
  readonly genesis: Genesis;
  readonly lease: JobLease;
  /** Decrypted records by shard index. */
  readonly shards: Map<number, Uint8Array>;
}

interface OfferedJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly dataset: DatasetManifest;
  readonly dataKey: Uint8Array;
  readonly hostSecret: Uint8Array;
  readonly terms: Terms;
  /** This session as the key broker released it. */
  readonly own: ReleasedSession;
  readonly lease: JobLease;
}

/**
 * @throws Rejection MANIFEST_*, STEP_RANGE_*, JOB_SIZE, JOB_DATASET, JOB_ESCROW naming the field that disagrees,
 * TERMS_*
 */
export function checkJob(offered: OfferedJob): HeldJob {
  const { spec, dataset, jobId, dataKey, terms, own } = offered;
  const session = own.binding;
  const manifest = parseManifestText(spec.manifest);
  checkBounds(manifest, guardSetOf(spec.scheme));
  checkCanonical(manifest, spec);
  checkSize(manifest, spec);
  agree('JOB_DATASET', 'data set id', toHex(spec.dataset.id), toHex(dataset.id));
  agree('JOB_DATASET', 'dataset root', toHex(spec.dataset.root), toHex(dataset.root));
  agree('JOB_DATASET', 'scheme', schemeOf(spec), schemeOf(dataset));
  agree('JOB_DATASET', 'records', spec.dataset.records, dataset.records);
  agree('JOB_DATASET', 'shards', spec.dataset.shards, dataset.shards.length);
  agree('JOB_DATASET', 'features', featureCount(manifest), dataset.features);
  agree('JOB_DATASET', 'classes', classCount(manifest), dataset.classes);
  agree('JOB_DATASET', 'batch', manifest.batch, dataset.batch);
  agree('JOB_DATASET', 'superblock', manifest.superblock, dataset.superblock);
  agree('JOB_ESCROW', 'spec digest', toHex(specDigestOf(spec)), toHex(terms.specDigest));
  const { rounds, workers } = divideSteps(manifest, spec);
  agree('JOB_ESCROW', 'segments', rounds, terms.segments);
  if (workers > 1) agree('JOB_ESCROW', 'a named provider', true, !isZero(terms.provider));
  agree('JOB_ESCROW', 'policy', toHex(spec.policyDigest), toHex(terms.policy));
  termsFit(spec, terms);
  const commitments = jobCommitments(spec, manifest, { jobId, dataKey });
  const start = initialWeights(manifest);
  const genesis = { weights: start, border: commitments.border(0, start) };
  agree('JOB_ESCROW', 'start weights', toHex(genesis.border), toHex(terms.initialWeights));
  agree('JOB_ESCROW', 'chain', spec.settlement.chainId, session.chainId);
  if (!isZero(terms.provider)) agree('JOB_ESCROW', 'provider', toHex(terms.provider), toHex(session.provider));
  return { ...offered, manifest, commitments, genesis, shards: new Map() };
}

/** @throws Rejection SHARDS_MISSING, DATASET_ROOT, LABEL_RANGE */
export async function assembleJob(held: HeldJob): Promise<ReadyJob> {
  const parts = held.dataset.shards.map((_, index) => {
    const records = held.shards.get(index);
    if (records === undefined) {
      throw new Rejection('SHARDS_MISSING', {
        expected: `all ${held.dataset.shards.length} shards`,
        got: `no shard ${index}`,
        rule: 'enclave/SPEC.md, shards',
        action: 'send every shard before training',
      });
    }
    return records;
  });
  const records = concatBytes(...parts);
  held.shards.clear();
  await checkRecords(held, records);
  const { shards: _shards, ...job } = held;
  const { manifest, terms } = job;
  parts.forEach((part, index) => checkLabels(manifest, index, part));
  const examples = splitRecords(manifest, records);
  const isRevealed = (terms.mode & JobMode.reveal) !== 0;
  return { ...job, escrowId: escrowIdOf(terms), verified: new Set(), examples, isRevealed };
}

/**
 * Checks records that the spec's root commits to. Its errors leave the guest, so they name no value and no place in a
 * shard.
 */
function checkLabels(m: Manifest, index: number, records: Uint8Array): void {
  const [features, classes] = [featureCount(m), classCount(m)];
  for (let at = features; at < records.length; at += features + 1) {
    if (records[at]! < classes) continue;
    throw new Rejection('LABEL_RANGE', {
      expected: `labels below ${classes} in shard ${index}`,
      got: 'a label out of range',
      rule: 'enclave/SPEC.md, shards',
      action: 'the data set was sealed wrongly: its owner must seal it again',
    });
  }
}

/** The program digest of statements is over the canonical bytes: a spec with others could never be shown to be met. */
function checkCanonical(manifest: Manifest, spec: JobSpec): void {
  if (equalBytes(canonicalManifest(manifest), spec.manifest)) return;
  throw new Rejection('MANIFEST_CANONICAL', {
    expected: 'the canonical JSON of the manifest',
    got: `${spec.manifest.length} other bytes of the same meaning`,
    rule: 'libs/step/SPEC.md §3; RFC 8785',
    action: 'submit the job with the canonical manifest',
  });
}

/** What cannot be carried to its end is refused before its start: checkpoints and border lists have a greatest size. */
function checkSize(manifest: Manifest, spec: JobSpec): void {
  atMost('bytes of weights', 8 * parameterCount(manifest), checkpointWeightsBytesMax);
  atMost('segments', divideSteps(manifest, spec).rounds, bordersMax - 1);
}

function schemeOf({ scheme, proving }: Pick<JobSpec, 'scheme'> & { proving: { profile: string } | null }): string {
  return proving === null ? scheme : `${scheme} under ${proving.profile}`;
}

function atMost(what: string, got: number, max: number): void {
  if (got <= max) return;
  throw new Rejection('JOB_SIZE', {
    expected: `at most ${max} ${what}`,
    got: String(got),
    rule: 'enclave/SPEC.md, job',
    action: 'submit a smaller network, or longer segments',
  });
}

function agree(code: string, what: string, expected: string | number | boolean, got: string | number | boolean): void {
  if (expected === got) return;
  throw new Rejection(code, {
    expected: `${what} ${expected}`,
    got: String(got),
    rule: 'enclave/SPEC.md, job',
    action: 'submit a job whose parts belong together',
  });
}
