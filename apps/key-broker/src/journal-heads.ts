/**
 * The journal held against the transparency log: heads of it are logged, and after a start nothing is released before
 * every entry that this broker's key signed since the newest head was found in a line.
 */
import { CodedError, CollateralError, fromHex, Rejection, to0x, toBase64 } from '#attestation/base';
import type { Journal } from './journal.js';
import { headBody } from './logged-lines.js';
import type { OwnEntries } from './own-entries.js';
import { unlogged, watchKeyOf } from './release-log.js';

export interface JournalHeads {
  /**
   * That the journal has what the log shows; looked up until it was once.
   * @throws CollateralError BROKER_JOURNAL_CUT; BROKER_LOG where the log cannot be read
   */
  compare(at: number): Promise<void>;
  /** @throws CollateralError BROKER_JOURNAL_CUT once the comparison found it cut */
  check(): void;
  /** Logs the ends of sessions. @throws CodedError BROKER_JOURNAL, LOG_*: once for what the log refuses for good */
  logEnds(at: number): Promise<void>;
  /** Logs the journal as it is, unless nothing was written since the newest head. @throws as `logEnds` */
  logHead(at: number): Promise<void>;
}

/** Of a broker without a log. */
export const noJournalHeads: JournalHeads = {
  compare: () => Promise.resolve(),
  check: () => undefined,
  logEnds: () => Promise.resolve(),
  logHead: () => Promise.resolve(),
};

/** So often others may write a line while a head is signed. */
const attemptsMost = 16;
const submitWithinMs = 3000;

type DataKeys = (datasetId: Uint8Array) => Uint8Array | null;

export function openJournalHeads(journal: Journal, own: OwnEntries, dataKey: DataKeys): JournalHeads {
  let found: 'whole' | CollateralError | null = null;
  let under: Promise<void> | null = null;
  /** Leaves of ended sessions that the log took, or will never take. */
  const settled = new Set<string>();
  const compare = async (at: number): Promise<void> => {
    try {
      await holdAgainst(journal, own, at);
      found = 'whole';
    } catch (error) {
      if (error instanceof CollateralError && error.code === 'BROKER_JOURNAL_CUT') found = error;
      if (error instanceof CodedError && error.code.startsWith('LOG_')) {
        throw unlogged(`${error.code}: ${error.detail.got}`);
      }
      throw error;
    }
  };
  const check = (): void => {
    if (found instanceof CollateralError) throw found;
  };
  return {
    check,
    async compare(at) {
      check();
      if (found !== 'whole') await (under ??= compare(at).finally(() => (under = null)));
    },
    logEnds: (at) => logEnds(journal, own, { dataKey, settled }, at),
    logHead: async (at) => {
      try {
        await logEnds(journal, own, { dataKey, settled }, at);
      } finally {
        await logHead(journal, own, at);
      }
    },
  };
}

async function holdAgainst(journal: Journal, own: OwnEntries, at: number): Promise<void> {
  const { logged } = journal;
  const entries = await own.since(await firstUnproved(journal, own));
  for (const { index, leaf, kind } of entries) {
    if (index < own.acceptedTo || logged.has(leaf)) continue;
    throw new CollateralError('BROKER_JOURNAL_CUT', {
      expected: `a line for entry ${index} of the log, ${kind}`,
      got: 'none',
      rule: 'key broker, journal',
      action: `restore the journal from a copy, or accept what is missing by log.acceptedTo ${index + 1}`,
    });
  }
  for (const { leaf } of entries) {
    // Whether its key was given no line says: the line that would may be the one that was taken away.
    const release = logged.undecided(leaf);
    if (release !== undefined) journal.append({ at, decision: 'released', ...release, leaf });
  }
}

/** What stands in the log up to the newest head that it has is in lines that the head is over. */
async function firstUnproved({ logged }: Journal, own: OwnEntries): Promise<number> {
  for (const head of logged.heads()) {
    const index = await own.indexOf(head);
    if (index !== null) return index + 1;
  }
  return 0;
}

interface Ends {
  readonly dataKey: DataKeys;
  readonly settled: Set<string>;
}

async function logEnds(journal: Journal, own: OwnEntries, { dataKey, settled }: Ends, at: number): Promise<void> {
  for (const { session, body, datasets } of journal.logged.ended(at)) {
    const keys = datasets.flatMap((dataset) => dataKey(fromHex(dataset)) ?? []);
    const about = { at, watchKeys: keys.slice(0, 8).map(watchKeyOf) };
    const { entry, opening } = await own.make('session-end', body, about);
    const shown = { salt: to0x(opening.salt), body: toBase64(opening.body) };
    journal.append({ at, decision: 'logging', kind: 'session-end', session, entry: toBase64(entry), ...shown });
  }
  const refused: Rejection[] = [];
  for (const [leaf, entry] of [...journal.logged.ends]) {
    if (settled.has(leaf)) continue;
    try {
      await own.submit(entry, submitWithinMs);
    } catch (error) {
      // One that the log refuses it refuses for good: the line in the journal is all that is left of it.
      if (!(error instanceof Rejection)) throw error;
      refused.push(error);
    }
    settled.add(leaf);
  }
  if (refused[0] !== undefined) throw refused[0];
}

async function logHead(journal: Journal, own: OwnEntries, at: number): Promise<void> {
  for (let attempt = 0; attempt < attemptsMost; attempt++) {
    const head = journal.head();
    if (head.lines === 0 || journal.logged.endsWithHead()) return;
    const { entry, opening } = await own.make('journal-head', headBody(head), { at, watchKeys: [] });
    const line = { at, decision: 'logging', kind: 'journal-head', entry: toBase64(entry), salt: to0x(opening.salt) };
    if (!journal.append(line, head)) continue;
    await own.submit(entry, submitWithinMs);
    return;
  }
}
