/**
 * The journal as a file: one JSON line for every decision, `{n, at, prev, …}`, `prev` the SHA-256 of the line before. The
 * lines of a journal from before it was chained stand in front, as they are: the first chained line names the SHA-256 of
 * them all. So a line that was changed, moved or taken out from within is seen, and the file is not gone on with.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { ConfigurationError } from '#attestation/base';

export type JournalEntry = Readonly<Record<string, unknown>>;

/** Up to where a journal goes: what a head of it in a log commits to. */
export interface JournalHead {
  readonly lines: number;
  readonly bytes: number;
  /** SHA-256 of the last line, as the next one names it; of all lines where none is chained. Hexadecimal. */
  readonly head: string;
}

interface JournalFile {
  /**
   * Durable when it returns.
   * @param after  only where the journal ends there
   * @returns whether it was written
   * @throws ConfigurationError BROKER_JOURNAL_CUT; what the file system throws
   */
  append(entry: JournalEntry, after?: JournalHead): boolean;
  head(): JournalHead;
  /** @throws as `append`, where it cannot be read or opened for writing */
  check(): void;
}

const chunkBytes = 256 * 1024;
const lineBytesMax = 1024 * 1024;
const lineFeed = 0x0a;

/** @param before  where the journal ended in front of it */
type TakeEntry = (entry: JournalEntry, line: Buffer, before: JournalHead) => void;

/**
 * @param take is given every entry in order, those that are there and those that come
 * @throws ConfigurationError BROKER_JOURNAL_CUT; what the file system throws
 */
export function openJournalFile(path: string, take: TakeEntry): JournalFile {
  const chain = openChain(path, take);
  let read = 0;
  /** Up to the last whole line; one that a crash cut off was written for something that was never given. */
  const catchUp = (fd: number): void => {
    const { size } = fstatSync(fd);
    if (size < read) throw journalCut(path, `at least ${read} bytes`, `${size}`);
    read += takeLines(fd, read, size, (line) => chain.take(line));
    if (read < size) ftruncateSync(fd, read);
  };
  const within = <T>(work: (fd: number) => T): T => {
    const fd = openSync(path, 'a+', 0o600);
    try {
      catchUp(fd);
      return work(fd);
    } finally {
      closeSync(fd);
    }
  };
  const check = (): void => within(() => undefined);
  check();
  return {
    check,
    head: () => chain.head(),
    append: (entry, after) =>
      within((fd) => {
        if (after !== undefined && after.head !== chain.head().head) return false;
        const line = chain.next(entry);
        appendFileSync(fd, `${line}\n`);
        fdatasyncSync(fd);
        catchUp(fd);
        return true;
      }),
  };
}

interface Chain {
  head(): JournalHead;
  /** @throws ConfigurationError BROKER_JOURNAL_CUT */
  take(line: Buffer): void;
  /** The line that would come next. */
  next(entry: JournalEntry): string;
}

function openChain(path: string, take: TakeEntry): Chain {
  const former = createHash('sha256');
  let count = 0;
  let last = '';
  let [lines, bytes] = [0, 0];
  const prev = (): string => (count === 0 ? former.copy().digest('hex') : last);
  const head = (): JournalHead => ({ lines, bytes, head: prev() });
  return {
    head,
    take(line) {
      const entry = entryOf(line);
      const before = head();
      if (count === 0 && entry?.['n'] === undefined) former.update(line).update('\n');
      else if (entry?.['n'] !== count + 1) throw journalCut(path, `line ${count + 1} of the chain`, numberOf(entry));
      else if (entry['prev'] !== prev()) throw journalCut(path, `prev ${prev()} in line ${count + 1}`, 'another');
      else {
        count += 1;
        last = createHash('sha256').update(line).digest('hex');
      }
      lines += 1;
      bytes += line.length + 1;
      if (entry !== null) take(entry, line, before);
    },
    next({ at, ...more }) {
      const line = JSON.stringify({ n: count + 1, at, prev: prev(), ...more });
      if (line.length < lineBytesMax) return line;
      throw Object.assign(new Error('a line too long for the journal'), { code: 'EMSGSIZE' });
    },
  };
}

/** @returns bytes of the whole lines that were taken */
function takeLines(fd: number, from: number, to: number, take: (line: Buffer) => void): number {
  let held = Buffer.alloc(0);
  let taken = 0;
  for (let at = from; at < to;) {
    const chunk = Buffer.alloc(Math.min(chunkBytes, to - at));
    const got = readSync(fd, chunk, 0, chunk.length, at);
    if (got === 0) break;
    at += got;
    held = Buffer.concat([held, chunk.subarray(0, got)]);
    for (let end = held.indexOf(lineFeed); end >= 0; end = held.indexOf(lineFeed)) {
      take(held.subarray(0, end));
      taken += end + 1;
      held = held.subarray(end + 1);
    }
    if (held.length > lineBytesMax) throw Object.assign(new Error('a line too long'), { code: 'EMSGSIZE' });
  }
  return taken;
}

/** @returns null for what is no entry: in a former journal a line that a crash cut off */
function entryOf(line: Buffer): JournalEntry | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as JournalEntry) : null;
  } catch {
    return null;
  }
}

function numberOf(entry: JournalEntry | null): string {
  const n = entry?.['n'];
  return typeof n === 'number' ? `line ${n}` : 'a line without a number';
}

export function journalCut(path: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('BROKER_JOURNAL_CUT', {
    expected: `${path}: ${expected}`,
    got,
    rule: 'key broker, journal',
    action: 'restore the journal from a copy; a broker that forgets what it gave out gives it out again',
  });
}
