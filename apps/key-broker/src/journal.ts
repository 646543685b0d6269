/**
 * The owner's own record, one JSON line per decision; it holds no secret. What cannot be recorded is not given. It is
 * also the broker's memory of what it gave, so it outlives the process: it is read once, at the start.
 */
import { CollateralError, fromHex, Rejection, to0x, toBase64, toHex } from '#attestation/base';
import { leafHash } from '#attestation/log';
import type { BundledEntry } from '#attestation/records';
import type { JobOpenings } from '#libs/proof';
import type { BrokerConfig } from './config.js';
import { journalCut, openJournalFile, type JournalEntry, type JournalHead } from './journal-file.js';
import { createLoggedLines, type LoggedLines } from './logged-lines.js';
import { createSessionIndex, type SessionIndex } from './session-index.js';

export interface Journal {
  /** What its lines say of sessions. */
  readonly sessions: SessionIndex;
  /** What was released for each job of a data set, by job id, both 0x-hexadecimal. */
  releasesOf(dataset: string): ReadonlyMap<string, ReleasedEntry>;
  /** What they say of entries in a transparency log. */
  readonly logged: LoggedLines;
  head(): JournalHead;
  /**
   * @param after  only where the journal ends there
   * @returns whether it was written
   * @throws CollateralError BROKER_JOURNAL: then nothing may be given
   */
  append(entry: JournalEntry, after?: JournalHead): boolean;
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
  const logged = createLoggedLines();
  const take = (entry: JournalEntry, line: Buffer, before: JournalHead): void => {
    sessions.take(entry);
    takeLogged(path, () => logged.take(entry, line, before));
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
    logged,
    head: file.head,
    append: (entry, after) => guarded(() => file.append(entry, after), 'CUT'),
    check: () => guarded(() => file.check(), 'CUT'),
  };
}

/** @throws ConfigurationError BROKER_JOURNAL_CUT where a head is of other lines than those in front of it */
function takeLogged(path: string, take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw journalCut(path, `a head of the lines in front of it: ${error.detail.expected}`, error.detail.got);
  }
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
function recordRelease(journal: Journal, limits: Limits, at: number, released: ReleasedJob): void {
  checkRelease(journal, limits, released);
  const { datasetId, jobId, more } = released;
  journal.append({ at, decision: 'released', dataset: to0x(datasetId), jobId: to0x(jobId), ...more });
}

interface LoggedRelease extends ReleasedJob {
  /** Logs it; is given what writes down the entry. */
  readonly enter?: (announce: (entry: Uint8Array) => void) => Promise<readonly BundledEntry[]>;
  /** @throws Rejection where it may not be given any more */
  readonly checkAgain: () => void;
}

/**
 * Logs a release where the owner demands a log, and records it. The line that names the entry stands before the log has it,
 * with all that a release says: so no end of the journal can be taken away that forgets what the log shows.
 * @returns what the bundle shows of it @throws as `recordRelease`, `enter` and `checkAgain`
 */
export async function logAndRecord(
  journal: Journal,
  limits: Limits,
  at: number,
  { enter, checkAgain, ...released }: LoggedRelease,
): Promise<readonly BundledEntry[] | undefined> {
  let leaf: string | undefined;
  const logged = await enter?.((entry) => {
    leaf = toHex(leafHash(entry));
    const { datasetId, jobId, more } = released;
    const release = { dataset: to0x(datasetId), jobId: to0x(jobId), ...more };
    journal.append({ at, decision: 'logging', kind: 'key-release', entry: toBase64(entry), release });
  });
  try {
    checkAgain();
    checkRelease(journal, limits, released);
  } catch (error) {
    if (leaf !== undefined) journal.append({ at, decision: 'not-released', leaf });
    throw error;
  }
  const more = { ...released.more, ...(leaf !== undefined && { leaf }) };
  recordRelease(journal, limits, at, { ...released, more });
  return logged;
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
