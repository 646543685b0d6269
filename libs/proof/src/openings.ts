/**
 * How often the proofs of jobs open one commitment, and whether one more job fits (step-proof §13.5). Every proof shows
 * `queries0` symbols of each row that it opens; `openingBudget` proofs stay below what the row's randomness hides. The
 * seeds follow from the data key, so whoever hands that key out keeps the list of admitted jobs and asks here.
 */
import { equalBytes, Rejection } from '#attestation';
import { orderSize, type Manifest } from '#libs/step';
import { openingBudget, type Profile } from '#libs/zk/verifier';

/** What one job opens at most, its proofs made once each. */
export interface JobOpenings {
  readonly jobId: Uint8Array;
  /** Of every superblock of the data set: once per epoch. The seeds are those of the data set, shared by its jobs. */
  readonly perSuperblock: number;
  /** Of every border between segments: as output of one proof and as input of the next. The seeds are the job's own. */
  readonly perBorder: number;
}

/**
 * @param proofsPerSegment 1, or more where others are to prove segments again with secrets of their own
 * @throws Rejection ORDER_TOO_FEW_RECORDS
 */
export function openingsOfJob(
  jobId: Uint8Array,
  manifest: Manifest,
  recordCount: number,
  proofsPerSegment = 1,
): JobOpenings {
  const { superblocks } = orderSize(manifest, recordCount);
  const epochs = Math.ceil(manifest.steps / (superblocks * manifest.superblock));
  return { jobId, perSuperblock: epochs * proofsPerSegment, perBorder: 2 * proofsPerSegment };
}

/**
 * @param admitted jobs on one data set whose key was handed out before
 * @returns        the list with the job on it; as it was where the job is on it already: its proofs are the same bytes
 * @throws Rejection OPENING_BUDGET when a superblock or a border would be opened once too often
 */
export function admitJob(admitted: readonly JobOpenings[], job: JobOpenings, profile: Profile): readonly JobOpenings[] {
  const others = admitted.filter(({ jobId }) => !equalBytes(jobId, job.jobId));
  const known = admitted.find(({ jobId }) => equalBytes(jobId, job.jobId));
  const spent = others.reduce((sum, { perSuperblock }) => sum + perSuperblock, 0);
  const budget = openingBudget(profile);
  demand('superblock', spent + job.perSuperblock, budget);
  demand('border', job.perBorder, budget);
  if (known?.perSuperblock === job.perSuperblock && known.perBorder === job.perBorder) return admitted;
  return [...others, job];
}

function demand(what: string, openings: number, budget: number): void {
  if (openings <= budget) return;
  throw new Rejection('OPENING_BUDGET', {
    expected: `at most ${budget} openings of one ${what}`,
    got: `${openings}`,
    rule: 'step-proof §13.5',
    action: 'seal the data set again under a new key, or train fewer epochs',
  });
}
