/**
 * The owner's own record, one JSON line per decision; it holds no secret. What cannot be recorded is not given. It is
 * also the broker's memory of what it gave, so it outlives the process: it is read once, at the start.
 */
import { CollateralError, fromHex, Rejection, to0x, type CodedError } from '#attestation/base';
import type { JobOpenings } from '#libs/proof';
import type { BrokerConfig } from './config.js';
import { openJournalFile, type JournalEntry } from './journal-file.js';
import { createSessionIndex, type SessionIndex } from './session-index.js';

export interface Journal {
  /** What its lines say of sessions. */
  readonly sessions: SessionIndex;
  /** What was released for each job of a data set, by job id, both 0x-hexadecimal. */
  releasesOf(dataset: string): ReadonlyMap<string, ReleasedEntry>;
  /** @throws CollateralError BROKER_JOURNAL: then nothing may be given */
  append(entry: JournalEntry): void;
  /** That lines can be read and written. @throws CollateralError BROKER_JOURNAL */
  check(): void;
}

interface ReleasedEntry {
  /** What its proofs open: one for each context, and one for each line without a context. */
  readonly openings: readonly WrittenOpenings[];
}

/** @throws ConfigurationError BROKER_JOURNAL_CUT; CollateralError BROKER_JOURNAL */
export function openJournal(path: string): Journal {
  const sessions = createSessionIndex();
  const releases = new Map<string, Map<string, ReleasedEntry>>();
  const take = (entry: JournalEntry): void => {
    sessions.take(entry);
    const { decision, dataset, jobId, openings } = entry;
    if (decision !== 'released' || typeof dataset !== 'string' || typeof jobId !== 'string') return;
    const jobs = releases.get(dataset) ?? new Map<string, ReleasedEntry>();
    const former = jobs.get(jobId)?.openings ?? [];
    releases.set(dataset, jobs.set(jobId, { openings: withOpenings(former, openings as WrittenOpenings | undefined) }));
  };
  const file = guarded(() => openJournalFile(path, take));
  return {
    sessions,
    releasesOf: (dataset) => releases.get(dataset) ?? new Map<string, ReleasedEntry>(),
    append: (entry) => guarded(() => file.append(entry), 'CUT'),
    check: () => guarded(() => file.check(), 'CUT'),
  };
}

function withOpenings(former: readonly WrittenOpenings[], next?: WrittenOpenings): readonly WrittenOpenings[] {
  if (next === undefined) return former;
  const isSame = ({ context }: WrittenOpenings): boolean => context !== undefined && context === next.context;
  return [...former.filter((one) => !isSame(one)), next];
}

interface Named {
  readonly datasetId: Uint8Array;
  readonly jobId: Uint8Array;
}

interface ReleasedJob extends Named {
  /** Further facts of the entry; no secret. */
  readonly more: Readonly<Record<string, unknown>>;
}

type Limits = Pick<BrokerConfig, 'jobsPerDataSet'>;

/**
 * That a release can be recorded.
 * @throws CollateralError BROKER_JOURNAL; Rejection BROKER_JOBS when the data set's key went to enough other jobs
 */
export function checkRelease(journal: Journal, { jobsPerDataSet }: Limits, { datasetId, jobId }: Named): void {
  journal.check();
  const dataset = to0x(datasetId);
  const jobs = journal.releasesOf(dataset);
  if (jobs.size < jobsPerDataSet || jobs.has(to0x(jobId))) return;
  throw new Rejection('BROKER_JOBS', {
    expected: `at most ${jobsPerDataSet} jobs on data set ${dataset}`,
    got: `${jobs.size} and another`,
    rule: "the data owner's release policy",
    action: 'ask the data owner to raise jobsPerDataSet',
  });
}

/** @throws as `checkRelease` */
export function recordRelease(journal: Journal, limits: Limits, at: number, released: ReleasedJob): void {
  checkRelease(journal, limits, released);
  const { datasetId, jobId, more } = released;
  journal.append({ at, decision: 'released', dataset: to0x(datasetId), jobId: to0x(jobId), ...more });
}

/** @throws CollateralError BROKER_JOURNAL */
export function recordRefusal(journal: Journal, at: number, error: CodedError): void {
  journal.append({ at, decision: 'refused', ...error.toJSON() });
}

/** Openings as a line holds them: a line of an earlier version has no context. */
export type WrittenOpenings = Omit<JobOpenings, 'jobId' | 'context'> & { readonly context?: string };

/**
 * What the proofs of earlier jobs on a data set may have opened. A line that names no context may have been under any
 * terms, so each counts by itself.
 */
export function openingsSoFar(journal: Journal, datasetId: Uint8Array): readonly JobOpenings[] {
  return [...journal.releasesOf(to0x(datasetId))].flatMap(([jobId, { openings }]) =>
    openings.map(({ context, ...counts }) => {
      return { jobId: fromHex(jobId), context: context === undefined ? null : fromHex(context), ...counts };
    }),
  );
}

/** A journal that was cut is the owner's to mend before the start, and a reason to wait later. */
function guarded<T>(work: () => T, cut?: 'CUT'): T {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'BROKER_JOURNAL_CUT' && cut === undefined) throw error;
    throw new CollateralError('BROKER_JOURNAL', {
      expected: 'a journal that can be read and written',
      got: code ?? 'an error',
      rule: 'key broker settings',
      action: 'the data owner must make room for the journal; then ask again',
    });
  }
}
