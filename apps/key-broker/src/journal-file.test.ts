import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openJournalFile, type JournalEntry } from './journal-file.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const pathWith = (content?: string): string => {
  const path = join(mkdtempSync(join(tmpdir(), 'veritrain-journal-')), 'journal.jsonl');
  if (content !== undefined) writeFileSync(path, content);
  return path;
};
const linesOf = (path: string): string[] => readFileSync(path, 'utf8').trim().split('\n');
const former = '{"at":1,"decision":"released"}\n{"at":2,"dec\n{"at":3,"decision":"refused"}\n';

function open(path: string) {
  const seen: JournalEntry[] = [];
  const file = openJournalFile(path, (entry) => seen.push(entry));
  return { seen, append: (decision: string) => file.append({ at: 10, decision }) };
}

function written(content: string | undefined, count: number): string {
  const path = pathWith(content);
  const { append } = open(path);
  for (let index = 0; index < count; index++) append(`decision ${index}`);
  return path;
}

describe('A-M7 the journal', () => {
  it('A-M7 names in every line the digest of the one before, from the first', () => {
    const lines = linesOf(written(undefined, 3));
    const prevs = lines.map((line) => (JSON.parse(line) as { prev: string }).prev);
    expect(prevs).toEqual([sha256(''), sha256(lines[0]!), sha256(lines[1]!)]);
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object).slice(0, 3))).toEqual(
      Array(3).fill(['n', 'at', 'prev']),
    );
  });

  it('A-M7 goes on from one of before, whose digest the first line names', () => {
    const path = written(former, 2);
    expect(readFileSync(path, 'utf8').startsWith(former)).toBe(true);
    expect(JSON.parse(linesOf(path)[3]!)).toMatchObject({ n: 1, prev: sha256(former) });
    expect(open(path).seen.map(({ decision }) => decision)).toEqual([
      'released',
      'refused',
      'decision 0',
      'decision 1',
    ]);
  });

  const tampered: [string, (lines: string[]) => string[]][] = [
    [
      'a changed line',
      (lines) => lines.map((line, at) => (at === 4 ? line.replace('decision 1', 'decision 7') : line)),
    ],
    ['a line taken out', (lines) => lines.filter((_, at) => at !== 4)],
    ['the first chained line taken out', (lines) => lines.filter((_, at) => at !== 3)],
    ['two lines exchanged', (lines) => [...lines.slice(0, 4), lines[5]!, lines[4]!, ...lines.slice(6)]],
    ['a line twice', (lines) => [...lines.slice(0, 5), ...lines.slice(4)]],
    ['a changed line of before', (lines) => lines.map((line, at) => (at === 0 ? line.replace('1', '9') : line))],
    ['a line of before taken out', (lines) => lines.slice(1)],
    ['a line of before put in', (lines) => [...lines.slice(0, 3), lines[0]!, ...lines.slice(3)]],
    ['a line of before put behind', (lines) => [...lines, lines[0]!]],
    ['a line that is no entry', (lines) => [...lines.slice(0, 5), 'nothing', ...lines.slice(5)]],
    ['a number changed', (lines) => lines.map((line) => line.replace('"n":2', '"n":5'))],
    ['the numbers taken off a line', (lines) => lines.map((line) => line.replace('"n":2,', ''))],
  ];
  it.each(tampered)('A-M7 with %s is not gone on with', (_, change) => {
    const path = written(former, 4);
    writeFileSync(path, `${change(linesOf(path)).join('\n')}\n`);
    const before = readFileSync(path, 'utf8');
    expect(() => open(path)).toThrow('BROKER_JOURNAL_CUT');
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('A-M7 any byte of any inner line changed is seen', () => {
    const path = written(former, 3);
    const whole = readFileSync(path);
    const inner = whole.lastIndexOf('\n', whole.length - 2);
    for (let at = 0; at < inner; at += 3) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0x02;
      writeFileSync(path, changed);
      expect(() => open(path), `byte ${at}`).toThrow('BROKER_JOURNAL_CUT');
    }
  });

  it('A-M7 forgets a last line that a crash cut off, and goes on', () => {
    for (const content of [undefined, former]) {
      const path = written(content, 2);
      appendFileSync(path, '{"n":3,"at":11,"prev":"');
      const { seen, append } = open(path);
      append('after');
      expect(seen.at(-1)).toMatchObject({ n: 3, decision: 'after' });
      expect(open(path).seen.at(-1)).toMatchObject({ decision: 'after' });
    }
  });

  it('A-M7 takes no more where it was cut while the broker ran', () => {
    const path = written(undefined, 3);
    const { append } = open(path);
    truncateSync(path, 10);
    expect(() => append('more')).toThrow('BROKER_JOURNAL_CUT');
  });

  it('A-M7 reads what another broker of the same journal wrote before it writes', () => {
    const path = written(undefined, 1);
    const [one, two] = [open(path), open(path)];
    one.append('of one');
    two.append('of two');
    one.append('of one again');
    expect(one.seen).toEqual(two.seen.concat(one.seen.slice(-1)));
    expect(open(path).seen).toHaveLength(4);
  });

  it('is readable by its owner alone, and made at the start', () => {
    const path = pathWith();
    open(path);
    expect(existsSync(path)).toBe(true);
    expect(statSync(path).mode & 0o077).toBe(0);
  });
});
