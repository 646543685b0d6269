/**
 * How often the proofs of jobs open one commitment, and whether one more job fits (libs/zk/SPEC.md §13.5). Every proof
 * shows `queries0` symbols of each row that it opens; `openingBudget` proofs stay below what the row's randomness
 * hides. The seeds follow from the data key, so whoever hands that key out keeps the list of admitted jobs and asks
 * here.
 */
import { concatBytes, equalBytes, Rejection, taggedDigest, word } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import { orderSize, type Manifest } from '#libs/step';
import { openingBudget, proverCodeVersion, type Profile } from '#libs/zk/verifier';

/** What one job opens at most under one set of terms, its proofs made once each. */
export interface JobOpenings {
  readonly jobId: Uint8Array;
  /** Of `openingContext`; null where nobody wrote down under which terms. */
  readonly context: Uint8Array | null;
  /**
   * Of every commitment to records of the data set: to a superblock once per epoch, to the whole set once per proof. The
   * seeds are those of the data set, shared by its jobs.
   */
  readonly perSuperblock: number;
  /** Of every border between segments: as output of one proof and as input of the next. The seeds are the job's own. */
  readonly perBorder: number;
}

/**
 * What the proofs of a job are bound to beside its spec. Under other terms, or by another version of the prover, a proof of
 * the same segment has other challenges, so it opens other places of the same commitments.
 */
export function openingContext(terms: Terms): Uint8Array {
  return taggedDigest('veritrain/opening-context/v1', concatBytes(word(proverCodeVersion), escrowIdOf(terms)));
}

/**
 * @param context          of `openingContext`
 * @param profile          its `unitSteps` tell whether one commitment holds the whole set
 * @param proofsPerSegment 1, or more where others are to prove segments again with secrets of their own
 * @throws Rejection ORDER_TOO_FEW_RECORDS
 */
export function openingsOfJob(
  { jobId, context }: Pick<JobOpenings, 'jobId' | 'context'>,
  manifest: Manifest,
  recordCount: number,
  { unitSteps = 1 }: Pick<Profile, 'unitSteps'>,
  proofsPerSegment = 1,
): JobOpenings {
  const { superblocks } = orderSize(manifest, recordCount);
  const readsOnce = unitSteps > manifest.superblock ? unitSteps : superblocks * manifest.superblock;
  const perSuperblock = Math.ceil(manifest.steps / readsOnce) * proofsPerSegment;
  return { jobId, context, perSuperblock, perBorder: 2 * proofsPerSegment };
}

/**
 * Superblocks are shared by all jobs on the data set; borders by those of one spec, for their seeds follow from it.
 *
 * @param admitted jobs on one data set whose key was handed out before
 * @returns        the list with the job on it; as it was where the job is on it already, in the same context: its proofs
 *                 are the same bytes
 * @throws Rejection OPENING_BUDGET when a superblock or a border would be opened once too often
 */
export function admitJob(admitted: readonly JobOpenings[], job: JobOpenings, profile: Profile): readonly JobOpenings[] {
  const isKnown = (other: JobOpenings): boolean =>
    equalBytes(other.jobId, job.jobId) &&
    equalBytes(other.context ?? none, job.context ?? none) &&
    job.context !== null;
  const others = admitted.filter((other) => !isKnown(other));
  const known = admitted.find(isKnown);
  const ofSpec = others.filter(({ jobId }) => equalBytes(jobId, job.jobId));
  const budget = openingBudget(profile);
  demand('superblock', job.perSuperblock + sum(others.map(({ perSuperblock }) => perSuperblock)), budget);
  demand('border', job.perBorder + sum(ofSpec.map(({ perBorder }) => perBorder)), budget);
  if (known?.perSuperblock === job.perSuperblock && known.perBorder === job.perBorder) return admitted;
  return [...others, job];
}

/**
 * Statements about a set of records in so many parts: the proof of each opens its part once and the weights once.
 *
 * @param isBorder the weights' commitment is a border of a job, which the proofs of two segments open
 * @throws Rejection OPENING_BUDGET when the weights would be opened once too often
 */
export function admitParts(parts: number, profile: Profile, isBorder: boolean): void {
  const action = 'choose a profile that carries larger parts, or fewer records';
  demand('commitment to weights', parts + (isBorder ? 2 : 0), openingBudget(profile), action);
}

const none = new Uint8Array();
const sealAgain = 'seal the data set again under a new key, or train fewer epochs';

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function demand(what: string, openings: number, budget: number, action = sealAgain): void {
  if (openings <= budget) return;
  throw new Rejection('OPENING_BUDGET', {
    expected: `at most ${budget} openings of one ${what}`,
    got: `${openings}`,
    rule: 'libs/zk/SPEC.md §13.5',
    action,
  });
}
