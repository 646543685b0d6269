/**
 * The owner's own record, one JSON line per decision; it holds no secret. What cannot be recorded is not given. It is
 * also the broker's memory of the jobs that had a data set's key, so it outlives the process.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { CollateralError, fromHex, Rejection, toHex, type CodedError } from '#attestation';
import type { JobOpenings } from '#libs/proof';
import type { BrokerConfig } from './config.js';

type Settings = Pick<BrokerConfig, 'journal' | 'jobsPerDataSet'>;

export interface ReleasedJob {
  readonly datasetId: Uint8Array;
  readonly jobId: Uint8Array;
  /** What else is worth keeping; no secret. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** @throws CollateralError BROKER_JOURNAL; Rejection BROKER_JOBS when the data set's key went to enough other jobs */
export function recordRelease({ journal, jobsPerDataSet }: Settings, at: number, released: ReleasedJob): void {
  const { datasetId, jobId, more } = released;
  const entry = { decision: 'released', dataset: `0x${toHex(datasetId)}`, jobId: `0x${toHex(jobId)}` };
  const jobs = guarded(() => jobsOf(journal, entry.dataset));
  if (jobs.size >= jobsPerDataSet && !jobs.has(entry.jobId)) {
    throw new Rejection('BROKER_JOBS', {
      expected: `at most ${jobsPerDataSet} jobs on data set ${entry.dataset}`,
      got: `${jobs.size} and another`,
      rule: "the data owner's release policy",
      action: 'ask the data owner to raise jobsPerDataSet',
    });
  }
  append(journal, { at, ...entry, ...more });
}

export interface RenewedSession {
  readonly jobId: Uint8Array;
  /** Digest of its keys. */
  readonly session: Uint8Array;
  /** Unix seconds. */
  readonly notAfter: number;
  readonly tier: string;
}

/** @throws CollateralError BROKER_JOURNAL */
export function recordRenewal({ journal }: Pick<Settings, 'journal'>, at: number, renewed: RenewedSession): void {
  const { jobId, session, notAfter, tier } = renewed;
  const ids = { jobId: `0x${toHex(jobId)}`, session: `0x${toHex(session)}` };
  append(journal, { at, decision: 'renewed', ...ids, notAfter, tier });
}

/** @throws CollateralError BROKER_JOURNAL */
export function recordRefusal({ journal }: Settings, at: number, error: CodedError): void {
  append(journal, { at, decision: 'refused', ...error.toJSON() });
}

/** @throws CollateralError BROKER_JOURNAL */
export function recordAvailability({ journal }: Settings, at: number, more: Readonly<Record<string, unknown>>): void {
  append(journal, { at, decision: 'available', ...more });
}

/** What the proofs of earlier jobs on a data set may have opened. @throws CollateralError BROKER_JOURNAL */
export function openingsSoFar({ journal }: Settings, datasetId: Uint8Array): readonly JobOpenings[] {
  const jobs = new Map<string, JobOpenings>();
  for (const { jobId, openings } of guarded(() => releasesOf(journal, `0x${toHex(datasetId)}`))) {
    if (jobId !== undefined && openings !== undefined) jobs.set(jobId, { jobId: fromHex(jobId), ...openings });
  }
  return [...jobs.values()];
}

function jobsOf(journal: string, dataset: string): Set<string> {
  return new Set(releasesOf(journal, dataset).map((entry) => entry.jobId ?? ''));
}

function releasesOf(journal: string, dataset: string): readonly Entry[] {
  const lines = existsSync(journal) ? readFileSync(journal, 'utf8').split('\n') : [];
  const entries = lines.filter((line) => line.includes('"released"')).map(read);
  return entries.filter((entry) => entry.dataset === dataset);
}

interface Entry {
  readonly dataset?: string;
  readonly jobId?: string;
  readonly openings?: Omit<JobOpenings, 'jobId'>;
}

/** A line that was cut off by a crash was written for a release that was never given. */
function read(line: string): Entry {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return {};
  }
}

/** @throws CollateralError BROKER_JOURNAL */
export function append(journal: string, entry: Record<string, unknown>): void {
  guarded(() => appendFileSync(journal, `${JSON.stringify(entry)}\n`, { mode: 0o600 }));
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CollateralError('BROKER_JOURNAL', {
      expected: 'a journal that can be read and written',
      got: (error as NodeJS.ErrnoException).code ?? 'an error',
      rule: 'key broker settings',
      action: 'the data owner must make room for the journal; then ask again',
    });
  }
}
