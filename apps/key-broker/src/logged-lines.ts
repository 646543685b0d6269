/**
 * What the journal says of entries in the transparency log. Each stands in a line before it is submitted, so an entry in
 * the log without a line shows that the journal was cut.
 */
import { fromHex, Rejection, to0x, toHex } from '#attestation/base';
import { encodeBody, leafHash, openEntry, parseEntry, treeRoot, type EntryBody } from '#attestation/log';
import { RightEdge } from '#libs/log';
import type { JournalEntry, JournalHead } from './journal-file.js';

interface EndedSession {
  /** Digest of its keys, 0x-hexadecimal. */
  readonly session: string;
  readonly body: EntryBody<'session-end'>;
  /** Data sets that it had the keys of, 0x-hexadecimal. */
  readonly datasets: readonly string[];
}

export interface LoggedLines {
  /** @throws Rejection LOG_OPENING where a head is not that of the lines in front of it */
  take(entry: JournalEntry, line: Uint8Array, before: JournalHead): void;
  /** @param leaf  hexadecimal, as all here */
  has(leaf: string): boolean;
  /** Entries of heads, newest first. */
  heads(): readonly Uint8Array[];
  /** Whether nothing was written after the newest head. */
  endsWithHead(): boolean;
  /** What was to be released under this leaf, where no line says what became of it. */
  undecided(leaf: string): JournalEntry | undefined;
  /** Sessions whose end is in no line for the log: refused, or with their last lease over at that time. */
  ended(at: number): readonly EndedSession[];
  /** Entries of ended sessions since the newest head, by leaf. */
  readonly ends: ReadonlyMap<string, Uint8Array>;
}

interface Session {
  readonly until: number;
  readonly reason: string | null;
  readonly renewals: number;
  readonly edge: RightEdge;
  readonly datasets: ReadonlySet<string>;
}

const headsMost = 8;
const lapsed = 'BROKER_SESSION_LAPSED';

export function createLoggedLines(): LoggedLines {
  const leaves = new Set<string>();
  const undecided = new Map<string, JournalEntry>();
  const ends = new Map<string, Uint8Array>();
  const sessions = createSessionEnds();
  let heads: readonly Uint8Array[] = [];
  let endsWithHead = false;
  const logging = (entry: JournalEntry, before: JournalHead): void => {
    const bytes = new Uint8Array(Buffer.from(String(entry['entry']), 'base64'));
    const leaf = toHex(leafHash(bytes));
    leaves.add(leaf);
    if (entry['kind'] === 'key-release') undecided.set(leaf, entry['release'] as JournalEntry);
    if (entry['kind'] === 'session-end') ends.set(leaf, bytes);
    if (entry['kind'] !== 'journal-head') return;
    checkHead(bytes, String(entry['salt']), before);
    heads = [bytes, ...heads].slice(0, headsMost);
    ends.clear();
    endsWithHead = true;
  };
  return {
    take(entry, line, before) {
      endsWithHead = false;
      if (entry['decision'] === 'logging') logging(entry, before);
      if (typeof entry['leaf'] === 'string') undecided.delete(entry['leaf']);
      sessions.take(entry, line);
    },
    has: (leaf) => leaves.has(leaf),
    heads: () => heads,
    endsWithHead: () => endsWithHead,
    undecided: (leaf) => undecided.get(leaf),
    ended: (at) => sessions.ended(at),
    ends,
  };
}

export function headBody({ lines, bytes, head }: JournalHead): EntryBody<'journal-head'> {
  return { lines, bytes, head: fromHex(head) };
}

function checkHead(bytes: Uint8Array, salt: string, before: JournalHead): void {
  const entry = parseEntry(bytes);
  if (entry.class !== 'sealed')
    throw new Rejection('LOG_OPENING', { expected: 'a head', got: entry.kind, rule: 'A-M7' });
  openEntry(entry, 'journal-head', { salt: fromHex(salt), body: encodeBody('journal-head', headBody(before)) });
}

function createSessionEnds() {
  const sessions = new Map<string, Session>();
  return {
    take(entry: JournalEntry, line: Uint8Array): void {
      const { decision, session } = entry;
      if (typeof session !== 'string') return;
      const known = sessions.get(session) ?? {
        until: 0,
        reason: null,
        renewals: 0,
        edge: new RightEdge(),
        datasets: new Set(),
      };
      const { dataset, notAfter, code } = entry;
      const until = Math.max(known.until, typeof notAfter === 'number' ? notAfter : 0);
      if (decision === 'released') {
        sessions.set(session, { ...known, until, datasets: new Set([...known.datasets, String(dataset)]) });
      } else if (decision === 'renewed') {
        known.edge.add(leafHash(line));
        sessions.set(session, { ...known, until, renewals: known.renewals + 1 });
      } else if (decision === 'session-ended') sessions.set(session, { ...known, reason: String(code) });
      else if (decision === 'logging' && entry['kind'] === 'session-end') sessions.delete(session);
    },
    ended: (at: number): readonly EndedSession[] =>
      [...sessions].flatMap(([session, { until, reason, renewals, edge, datasets }]) => {
        const why = reason ?? (until < at ? lapsed : null);
        if (why === null) return [];
        const root = renewals === 0 ? treeRoot([]) : edge.root();
        const body = { session: fromHex(session), reason: why.slice(0, 64), root, renewals };
        return [{ session: to0x(body.session), body, datasets: [...datasets] }];
      }),
  };
}
