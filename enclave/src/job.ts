/** From a job as the host hands it over to one whose every part has been checked against every other. */
import { concatBytes, equalBytes, isZero, Rejection, toHex } from '#attestation/base';
import {
  bordersMax,
  escrowIdOf,
  JobMode,
  shardCount,
  specDigestOf,
  termsFit,
  type JobSpec,
  type ReleasedSession,
  type SealedDataset,
  type Terms,
} from '#attestation/records';
import {
  canonicalManifest,
  checkBounds,
  checkStateSize,
  classCount,
  divideSteps,
  featureCount,
  guardSetOf,
  isNet,
  parseJobManifestText,
  splitNetRecords,
  splitRecords,
  type JobManifest,
  type Manifest,
} from '#libs/step';
import { jobCommitments, type JobCommitments } from '#libs/zk/commit';
import { checkRecords, checkValidation } from './dataset.js';
import { checkDataset } from './job-dataset.js';
import { startKindOf, startOfJob } from './start.js';
import type { JobLease } from './lease.js';
import type { Genesis, ReadyJob } from './ready-job.js';
import { incomingPieces, type IncomingPieces } from './resume.js';

/** A job that lacks only its shards. */
export interface HeldJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly manifest: JobManifest;
  readonly dataset: SealedDataset;
  readonly dataKey: Uint8Array;
  readonly hostSecret: Uint8Array;
  readonly terms: Terms;
  readonly own: ReleasedSession;
  readonly commitments: JobCommitments;
  /** Null where the start weights come from outside. */
  readonly drawn: Genesis | null;
  readonly lease: JobLease;
  /** Decrypted records by shard index, through both sets of a data set of layout 2. */
  readonly shards: Map<number, Uint8Array>;
  /** Canonical bytes of the start weights, part by part, where the manifest names weights. */
  readonly startParts: Uint8Array[];
  readonly incoming: IncomingPieces;
}

interface OfferedJob {
  readonly jobId: Uint8Array;
  readonly spec: JobSpec;
  readonly dataset: SealedDataset;
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
  const manifest = parseJobManifestText(spec.manifest);
  if (!isNet(manifest)) checkBounds(manifest, guardSetOf(spec.scheme));
  checkCanonical(manifest, spec);
  checkSize(manifest, spec);
  checkDataset(spec, manifest, dataset);
  agree('JOB_ESCROW', 'spec digest', toHex(specDigestOf(spec)), toHex(terms.specDigest));
  const { rounds, workers } = divideSteps(manifest, spec);
  agree('JOB_ESCROW', 'segments', rounds, terms.segments);
  if (workers > 1) agree('JOB_ESCROW', 'a named provider', true, !isZero(terms.provider));
  agree('JOB_ESCROW', 'policy', toHex(spec.policyDigest), toHex(terms.policy));
  termsFit(spec, terms);
  const commitments = jobCommitments(spec, manifest, { jobId, dataKey });
  agree('JOB_ESCROW', 'chain', spec.settlement.chainId, session.chainId);
  if (!isZero(terms.provider)) agree('JOB_ESCROW', 'provider', toHex(terms.provider), toHex(session.provider));
  const held = {
    ...offered,
    manifest,
    commitments,
    shards: new Map(),
    startParts: [],
    incoming: incomingPieces(offered),
  };
  // Before shards are sent where nothing else has to come: a start that is not the escrow's is refused at once.
  return { ...held, drawn: startKindOf(manifest) === 'seed' ? genesisOf(held, []) : null };
}

/** @throws Rejection SHARDS_MISSING, DATASET_ROOT, LABEL_RANGE, TOKEN_RANGE, START_*, JOB_ESCROW */
export async function assembleJob(held: HeldJob): Promise<ReadyJob> {
  const parts = Array.from({ length: shardCount(held.dataset) }, (_, index) => {
    const records = held.shards.get(index);
    if (records === undefined) {
      throw new Rejection('SHARDS_MISSING', {
        expected: `all ${shardCount(held.dataset)} shards`,
        got: `no shard ${index}`,
        rule: 'enclave/SPEC.md, shards',
        action: 'send every shard before training',
      });
    }
    return records;
  });
  const genesis = held.drawn ?? genesisOf(held, held.startParts);
  const training = parts.slice(0, held.dataset.shards.length);
  const records = concatBytes(...training);
  const rest = concatBytes(...parts.slice(training.length));
  held.shards.clear();
  await checkRecords(held, records);
  await checkValidation(held, rest);
  const { shards: _shards, drawn: _drawn, startParts: _parts, incoming: _incoming, ...job } = held;
  const { manifest, terms } = job;
  const isRevealed = (terms.mode & JobMode.reveal) !== 0;
  const common = { escrowId: escrowIdOf(terms), verified: new Set<string>(), isRevealed, genesis };
  if (isNet(manifest)) {
    const validation = rest.length === 0 ? null : splitNetRecords(manifest, rest);
    return { ...job, ...common, examples: splitNetRecords(manifest, records), validation };
  }
  training.forEach((part, index) => checkLabels(manifest, index, part));
  return { ...job, ...common, examples: splitRecords(manifest, records), validation: null };
}

/** @throws Rejection START_*, WEIGHTS_*, JOB_ESCROW unless it is the start that the escrow names */
function genesisOf({ manifest, commitments, terms }: Omit<HeldJob, 'drawn'>, parts: readonly Uint8Array[]): Genesis {
  const { state, frozen } = startOfJob(manifest, parts);
  const border = commitments.border(0, state);
  agree('JOB_ESCROW', 'start weights', toHex(border), toHex(terms.initialWeights));
  return { weights: state, frozen, border };
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
function checkCanonical(manifest: JobManifest, spec: JobSpec): void {
  if (equalBytes(canonicalManifest(manifest), spec.manifest)) return;
  throw new Rejection('MANIFEST_CANONICAL', {
    expected: 'the canonical JSON of the manifest',
    got: `${spec.manifest.length} other bytes of the same meaning`,
    rule: 'libs/step/SPEC.md §3; RFC 8785',
    action: 'submit the job with the canonical manifest',
  });
}

/** What cannot be carried to its end is refused before its start: checkpoints and border lists have a greatest size. */
function checkSize(manifest: JobManifest, spec: JobSpec): void {
  checkStateSize(manifest, spec);
  const { rounds } = divideSteps(manifest, spec);
  if (rounds < bordersMax) return;
  throw new Rejection('JOB_SIZE', {
    expected: `at most ${bordersMax - 1} segments`,
    got: String(rounds),
    rule: 'enclave/SPEC.md, job',
    action: 'submit the job with longer segments',
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
