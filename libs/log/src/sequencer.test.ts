/** Crashes at every step of a round, with the embedded database: nothing lost, nothing twice, no two histories. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import { leafHash, parseCheckpoint, treeRoot } from '#attestation/log';
import { logKeyOf } from '#test/log-keys';
import { openLogDatabase, type LogDatabase, type Sql } from './database.js';
import { openLog, recoverLog, sequence, type LogParts } from './sequencer.js';
import { createFileStore } from './store/files.js';
import { TileReader } from './tiles/reader.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-sequencer-'));
let database: LogDatabase;
beforeAll(async () => {
  database = await openLogDatabase({ directory: join(folder, 'database') });
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

let logs = 0;
function newLog(): LogParts & { readonly files: string } {
  const name = `log.example/test-${logs++}`;
  const files = join(folder, `files-${logs}`);
  return { database, store: createFileStore(files), files, ...logKeyOf(name) };
}

async function offer({ key }: LogParts, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    const entry = utf8(`${key.name} ${name}`);
    await database.query('INSERT INTO log_pending (origin, leaf, entry) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      key.name,
      Buffer.from(leafHash(entry)),
      Buffer.from(entry),
    ]);
  }
}

/** As one whose number was given before others, and which was committed after them. */
async function offerLate({ key }: LogParts, name: string): Promise<void> {
  const entry = utf8(`${key.name} ${name}`);
  await database.query('INSERT INTO log_pending (id, origin, leaf, entry) VALUES ($1, $2, $3, $4)', [
    -logs,
    ...[key.name, Buffer.from(leafHash(entry)), Buffer.from(entry)],
  ]);
}

class Crash extends Error {}

/** The same parts, ending with a crash at the n-th thing they do: a query, a commit, before or after a file. */
function crashingAt(parts: LogParts, at: number) {
  const counter = { steps: 0 };
  const step = (): void => {
    if (counter.steps++ === at) throw new Crash();
  };
  const counted = (sql: Sql): Sql => ({
    query: (text, values) => {
      step();
      return sql.query(text, values);
    },
  });
  const crashing: LogParts = {
    ...parts,
    database: {
      ...counted(parts.database),
      close: () => Promise.resolve(),
      transaction: async (act) => {
        const result = await parts.database.transaction(async (sql) => {
          const value = await act(counted(sql));
          step();
          return value;
        });
        step();
        return result;
      },
    },
    store: {
      read: (path) => parts.store.read(path),
      write: async (path, bytes) => {
        step();
        await parts.store.write(path, bytes);
        step();
      },
    },
  };
  return { crashing, counter };
}

/** What left the process: the row that is served, and the file. */
async function shown({ key, store }: LogParts): Promise<string[]> {
  const rows = await database.query<{ served: string }>('SELECT served FROM log WHERE origin = $1', [key.name]);
  const file = await store.read('checkpoint');
  return [...rows.map(({ served }) => served), ...(file === null ? [] : [new TextDecoder().decode(file)])];
}

async function settle(parts: LogParts): Promise<void> {
  while (await sequence(parts));
}

async function leavesOf(parts: LogParts): Promise<Uint8Array[]> {
  const [note] = await shown(parts);
  const { size, root } = parseCheckpoint(note!);
  const reader = new TileReader(parts.store.read, size);
  expect(toHex(await reader.root())).toBe(toHex(root));
  return Promise.all(Array.from({ length: size }, (_, index) => reader.leaf(index)));
}

/** Notes that are not of the history that came to be. */
function contradicting(notes: readonly string[], leaves: readonly Uint8Array[]): string[] {
  return notes.filter((note) => {
    const { size, root } = parseCheckpoint(note);
    return size > leaves.length || toHex(treeRoot(leaves.slice(0, size))) !== toHex(root);
  });
}

/** One run: a first batch, a crash at step `at` of the second, another entry before it goes on. */
async function crashRun(at: number, leak: (note: string) => void = () => undefined) {
  const own = newLog();
  const parts: LogParts = {
    ...own,
    sign: (text) => {
      const signature = own.sign(text);
      leak(`${text}\n— ${own.key.name} ${Buffer.concat([new Uint8Array(4), signature]).toString('base64')}\n`);
      return signature;
    },
  };
  await openLog(parts);
  await offer(parts, 'a', 'b', 'c');
  await settle(parts);
  await offer(parts, 'd', 'e');
  const { crashing, counter } = crashingAt(parts, at);
  const notes = await shown(parts);
  const crashed = await sequence(crashing).then(
    () => false,
    (error: unknown) => {
      if (!(error instanceof Crash)) throw error;
      return true;
    },
  );
  notes.push(...(await shown(parts)));
  await offerLate(parts, 'f');
  await offer(parts, 'a', 'd');
  await openLog(parts);
  await settle(parts);
  notes.push(...(await shown(parts)));
  const leaves = await leavesOf(parts);
  return { crashed, steps: counter.steps, notes, leaves, names: leaves.map(toHex), origin: parts.key.name };
}

describe('a crash', () => {
  it('at any third step loses no entry, numbers none twice and shows one history', async () => {
    let at = 0;
    for (; ; at += 3) {
      const { crashed, notes, leaves, names, origin } = await crashRun(at);
      const expected = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => toHex(leafHash(utf8(`${origin} ${name}`))));
      expect([...names].sort(), `step ${at}`).toEqual([...expected].sort());
      expect(contradicting(notes, leaves), `step ${at}`).toEqual([]);
      if (!crashed) break;
    }
    expect(at).toBeGreaterThan(15);
  });

  it('would show two histories where a signature left before the commit (planted)', async () => {
    const found: string[] = [];
    for (let at = 6; at < 10; at++) {
      const leaked: string[] = [];
      const { leaves } = await crashRun(at, (note) => void leaked.push(note));
      found.push(...contradicting(leaked, leaves));
    }
    expect(found.length).toBeGreaterThan(0);
  });
});

describe('a restored backup', () => {
  it('does not start a log whose files are ahead, and is mended from them', async () => {
    const parts = newLog();
    await openLog(parts);
    await offer(parts, 'a', 'b', 'c');
    await settle(parts);
    await database.query('CREATE TABLE backup AS SELECT * FROM log WHERE origin = $1', [parts.key.name]);
    await offer(parts, 'd', 'e');
    await settle(parts);
    const [note] = await shown(parts);
    await database.query('DELETE FROM log WHERE origin = $1', [parts.key.name]);
    await database.query('INSERT INTO log SELECT * FROM backup');
    await database.query('DELETE FROM log_entry WHERE origin = $1 AND idx >= 3', [parts.key.name]);
    await expect(openLog(parts)).rejects.toThrow(/LOG_BEHIND/);
    expect(await recoverLog(parts)).toBe(2);
    await openLog(parts, [note!]);
    await offer(parts, 'd', 'f');
    await settle(parts);
    const leaves = await leavesOf(parts);
    expect(leaves).toHaveLength(6);
    expect(contradicting([note!], leaves)).toEqual([]);
  });

  it('is mended up to what a witness saw, where the checkpoint of the store was set back', async () => {
    const parts = newLog();
    await openLog(parts);
    await offer(parts, 'a');
    await settle(parts);
    await database.query('CREATE TABLE first_backup AS SELECT * FROM log WHERE origin = $1', [parts.key.name]);
    await offer(parts, 'b');
    await settle(parts);
    const older = (await parts.store.read('checkpoint'))!;
    await offer(parts, 'c', 'd');
    await settle(parts);
    const [note] = await shown(parts);
    await database.query('DELETE FROM log WHERE origin = $1', [parts.key.name]);
    await database.query('INSERT INTO log SELECT * FROM first_backup');
    await database.query('DELETE FROM log_entry WHERE origin = $1 AND idx >= 1', [parts.key.name]);
    await parts.store.write('checkpoint', older);
    const elsewhere = logKeyOf('other.example/log').note(9, leafHash(utf8('x')));
    await expect(recoverLog(parts, [elsewhere])).rejects.toThrow(/LOG_RECOVER/);
    const longer = logKeyOf(parts.key.name).note(9, leafHash(utf8('x')));
    await expect(recoverLog(parts, [longer])).rejects.toThrow();
    for (const size of [1, 4]) {
      const forked = logKeyOf(parts.key.name).note(size, leafHash(utf8('x')));
      await expect(recoverLog(parts, [note!, forked])).rejects.toThrow(/LOG_FORK|LOG_RECOVER/);
    }
    // What shows two histories stays where it was.
    expect(await parts.store.read('checkpoint')).toEqual(older);
    expect(await recoverLog(parts, [note!])).toBe(3);
    await openLog(parts, [note!]);
    expect(await shown(parts)).toContain(note);
    await offer(parts, 'e');
    await settle(parts);
    expect(contradicting([note!], await leavesOf(parts))).toEqual([]);
  });

  it('does not start where a witness saw more, or another tree, or files are altered', async () => {
    const parts = newLog();
    await openLog(parts);
    await offer(parts, 'a', 'b');
    await settle(parts);
    const size3 = logKeyOf(parts.key.name).note(3, treeRoot([leafHash(utf8('x'))]));
    const fork2 = logKeyOf(parts.key.name).note(2, treeRoot([leafHash(utf8('x'))]));
    const fork1 = logKeyOf(parts.key.name).note(1, leafHash(utf8('x')));
    await expect(openLog(parts, [size3])).rejects.toThrow(/LOG_BEHIND/);
    await expect(openLog(parts, [fork2])).rejects.toThrow(/LOG_FORK/);
    await expect(openLog(parts, [fork1])).rejects.toThrow(/LOG_FORK/);
    await expect(openLog(parts, [logKeyOf('other.example/log').note(1, leafHash(utf8('x')))])).rejects.toThrow(
      /LOG_FORK/,
    );
    const tile = (await parts.store.read('tile/0/000.p/2'))!;
    tile[0]! ^= 1;
    await parts.store.write('tile/0/000.p/2', tile);
    await offer(parts, 'c');
    await expect(settle(parts)).rejects.toThrow(/LOG_ROOT|LOG_TILE/);
    expect(parseCheckpoint((await shown(parts))[0]!).size).toBe(2);
  });
});
