/**
 * Numbers what is pending, signs, and publishes. Any number of replicas may run on one database and one store: the
 * commit decides the tree, the signature leaves the process after it, and files are a function of the rows, so any step
 * may be repeated by anybody.
 */
import { ConfigurationError, equalBytes, Rejection, toHex, utf8 } from '#attestation/base';
import {
  checkConsistency,
  isSignedBy,
  parseCheckpoint,
  signCheckpoint,
  treeRoot,
  type NoteKey,
  type SignedCheckpoint,
} from '#attestation/log';
import type { LogDatabase, Sql } from './database.js';
import type { LogStore } from './store/files.js';
import { TileReader } from './tiles/reader.js';
import { rootWith, writeTree } from './tiles/writer.js';

export interface LogParts {
  readonly database: LogDatabase;
  readonly store: LogStore;
  readonly key: NoteKey;
  /** Ed25519 over UTF-8. */
  readonly sign: (text: string) => Uint8Array;
}

interface LogRow {
  readonly size: number | string;
  readonly published: number | string;
  readonly note: string;
  readonly served: string;
}

const batchMost = 4096;

/**
 * Makes the log's row where there is none, and looks at what anybody saw of this log before.
 * @param seen  checkpoints of this log that others keep: the store's is looked at anyway
 * @throws ConfigurationError LOG_BEHIND where the database has fewer entries than somebody saw, LOG_FORK where it has others
 */
export async function openLog(parts: LogParts, seen: readonly string[] = []): Promise<void> {
  const { database, store, key, sign } = parts;
  const empty = signCheckpoint({ origin: key.name, size: 0, root: treeRoot([]) }, key, sign);
  await database.query(
    'INSERT INTO log (origin, size, published, note, served) VALUES ($1, 0, 0, $2, $2) ON CONFLICT DO NOTHING',
    [key.name, empty],
  );
  const [row] = await database.query<LogRow>('SELECT size, published, note, served FROM log WHERE origin = $1', [
    key.name,
  ]);
  const stored = await store.read('checkpoint');
  if (stored === null && Number(row!.published) > 0) {
    throw refused('LOG_BEHIND', 'the files that were published', 'a store without a checkpoint');
  }
  for (const note of stored === null ? seen : [new TextDecoder().decode(stored), ...seen]) {
    await compare(parts, row!, parseCheckpoint(note));
  }
}

async function compare({ store, key }: LogParts, row: LogRow, seen: SignedCheckpoint): Promise<void> {
  if (seen.origin !== key.name || !isSignedBy(seen.note, key)) {
    throw refused('LOG_FORK', `checkpoints signed by ${key.name}`, `one of ${seen.origin}`);
  }
  if (seen.size > Number(row.size)) {
    throw refused(
      'LOG_BEHIND',
      `${seen.size} entries or more, as were published`,
      `${Number(row.size)} in the database`,
    );
  }
  const own = parseCheckpoint(row.note);
  const root = seen.size === own.size ? own.root : await rootAt(store, Number(row.published), seen.size);
  if (root !== null && !equalBytes(root, seen.root)) {
    throw refused('LOG_FORK', `the root ${toHex(seen.root)} at ${seen.size}`, toHex(root));
  }
}

/** Null where that much is not published yet: the next round does, and compares. */
function rootAt(store: LogStore, published: number, size: number): Promise<Uint8Array> | null {
  return size > published ? null : new TileReader(store.read, published).root(size);
}

function refused(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, {
    expected,
    got,
    rule: 'libs/log/README.md',
    action: 'do not start this log; RUNBOOK.md, "A backup of the log\'s database was restored"',
  });
}

/**
 * One round.
 * @returns whether there was anything to do, and this replica did it
 * @throws Rejection LOG_ROOT where files do not give the root that was signed: stop, nothing may be published
 */
export async function sequence(parts: LogParts): Promise<boolean> {
  const numbered = await parts.database.transaction(async (sql) => {
    const row = await lockedRow(sql, parts.key.name, 'skip');
    if (row === null) return false;
    return Number(row.size) > Number(row.published) || number(parts, sql, row);
  });
  return numbered && publish(parts);
}

/** @param orElse  where another replica has it: its turn is over soon, or it is left to that one (null) */
async function lockedRow(sql: Sql, origin: string, orElse: 'wait' | 'skip'): Promise<LogRow | null> {
  const [row] = await sql.query<LogRow>(
    `SELECT size, published, note, served FROM log WHERE origin = $1 FOR UPDATE ${orElse === 'skip' ? 'SKIP LOCKED' : ''}`,
    [origin],
  );
  return row ?? null;
}

const beatMs = 250;

/** The session counts as alive while this process runs, however slow the disk; one that is stopped loses its lock. */
async function whileAlive<T>(sql: Sql, act: () => Promise<T>): Promise<T> {
  let beat: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    beat = beat.then(() => sql.query('SELECT 1')).catch(() => undefined);
  }, beatMs);
  try {
    return await act();
  } finally {
    clearInterval(timer);
    await beat;
  }
}

async function number({ store, key, sign }: LogParts, sql: Sql, row: LogRow): Promise<boolean> {
  const origin = key.name;
  const size = Number(row.size);
  await sql.query(
    `DELETE FROM log_pending p USING log_entry e WHERE p.origin = $1 AND e.origin = p.origin AND e.leaf = p.leaf`,
    [origin],
  );
  const taken = await sql.query<{ id: number | string; leaf: Uint8Array }>(
    'SELECT id, leaf FROM log_pending WHERE origin = $1 ORDER BY id LIMIT $2',
    [origin, batchMost],
  );
  if (taken.length === 0) return false;
  const leaves = taken.map(({ leaf }) => new Uint8Array(leaf));
  const reader = new TileReader(store.read, size);
  sameRoot(parseCheckpoint(row.note), await reader.root());
  const root = await rootWith(reader, leaves);
  const ids = `{${taken.map(({ id }) => String(id)).join(',')}}`;
  const rows = await sql.query(
    `INSERT INTO log_entry (origin, idx, leaf, entry)
     SELECT $1, $2::bigint + t.place - 1, p.leaf, p.entry
     FROM unnest($3::bigint[]) WITH ORDINALITY AS t (id, place) JOIN log_pending p ON p.id = t.id RETURNING idx`,
    [origin, size, ids],
  );
  if (rows.length !== taken.length) throw new Error('pending entries changed under the lock');
  await sql.query('DELETE FROM log_pending WHERE id = ANY ($1::bigint[])', [ids]);
  const later = size + taken.length;
  const note = signCheckpoint({ origin, size: later, root }, key, sign);
  await sql.query('UPDATE log SET size = $2, note = $3 WHERE origin = $1', [origin, later, note]);
  return true;
}

async function publish({ database, store, key }: LogParts): Promise<boolean> {
  return database.transaction(async (sql) => {
    const row = await lockedRow(sql, key.name, 'wait');
    const [from, to] = [Number(row?.published ?? 0), Number(row?.size ?? 0)];
    if (row === null || from === to) return false;
    const rows = await sql.query<{ leaf: Uint8Array; entry: Uint8Array }>(
      'SELECT leaf, entry FROM log_entry WHERE origin = $1 AND idx >= $2 AND idx < $3 ORDER BY idx',
      [key.name, from, to],
    );
    const added = rows.map(({ leaf, entry }) => ({ leaf: new Uint8Array(leaf), entry: new Uint8Array(entry) }));
    // Who was stopped, and lost its lock meanwhile, writes no more.
    const write = async (path: string, bytes: Uint8Array): Promise<void> => {
      await sql.query('SELECT 1');
      await store.write(path, bytes);
    };
    await whileAlive(sql, async () => {
      await writeTree({ read: store.read, write }, from, added);
      await checkFiles(store, parseCheckpoint(row.served), parseCheckpoint(row.note));
      await write('checkpoint', utf8(row.note));
    });
    await sql.query('UPDATE log SET published = $2, served = note WHERE origin = $1', [key.name, to]);
    await sql.query('UPDATE log_entry SET entry = NULL WHERE origin = $1 AND idx >= $2 AND idx < $3', [
      key.name,
      from,
      to,
    ]);
    return true;
  });
}

/** That the files give what was signed, and go on from what was published before. */
async function checkFiles(store: LogStore, before: SignedCheckpoint, signed: SignedCheckpoint): Promise<void> {
  const reader = new TileReader(store.read, signed.size);
  sameRoot(signed, await reader.root());
  if (before.size > 0) checkConsistency(before, signed, await reader.consistencyPath(before.size));
}

function sameRoot({ size, root }: SignedCheckpoint, found: Uint8Array): void {
  if (equalBytes(found, root)) return;
  throw new Rejection('LOG_ROOT', {
    expected: `the root ${toHex(root)} that was signed for ${size} entries`,
    got: toHex(found),
    rule: 'libs/log/README.md',
    action: 'stop every replica of this log: its files or its rows were altered',
  });
}

/**
 * Rebuilds rows from files that are ahead of the database, up to the newest checkpoint that this log signed.
 * @param seen  checkpoints of this log that its witnesses keep: where a replica slept while it wrote, the store's is an older one
 * @returns rows added
 * @throws ConfigurationError LOG_RECOVER, LOG_FORK where one of those checkpoints has another history
 */
export async function recoverLog(
  { database, store, key, sign }: LogParts,
  seen: readonly string[] = [],
): Promise<number> {
  const stored = await store.read('checkpoint');
  const notes = stored === null ? seen : [new TextDecoder().decode(stored), ...seen];
  const [newest, ...others] = notes.map((note) => signedByUs(note, key)).toSorted((a, b) => b.size - a.size);
  if (newest === undefined) throw refused('LOG_RECOVER', 'a checkpoint in the store or with a witness', 'none');
  const { size, root } = newest;
  const reader = new TileReader(store.read, size);
  const found = await reader.root();
  if (!equalBytes(found, root)) throw refused('LOG_RECOVER', `tiles with the root ${toHex(root)}`, toHex(found));
  for (const other of others) {
    const had = await reader.root(other.size);
    if (!equalBytes(had, other.root))
      throw refused('LOG_FORK', `the root ${toHex(other.root)} at ${other.size}`, toHex(had));
  }
  // Without the lines of witnesses, which it is shown to anew.
  const note = signCheckpoint({ origin: key.name, size, root }, key, sign);
  return database.transaction(async (sql) => {
    const empty = signCheckpoint({ origin: key.name, size: 0, root: treeRoot([]) }, key, sign);
    await sql.query(
      'INSERT INTO log (origin, size, published, note, served) VALUES ($1, 0, 0, $2, $2) ON CONFLICT DO NOTHING',
      [key.name, empty],
    );
    const [row] = await sql.query<LogRow>(
      'SELECT size, published, note, served FROM log WHERE origin = $1 FOR UPDATE',
      [key.name],
    );
    const from = Number(row!.published);
    if (size < Number(row!.size)) throw refused('LOG_RECOVER', 'files ahead of the database', 'files behind it');
    await sql.query('DELETE FROM log_entry WHERE origin = $1 AND idx >= $2', [key.name, from]);
    for (let index = from; index < size; index++) {
      const leaf = await whileAlive(sql, () => reader.leaf(index));
      await sql.query('INSERT INTO log_entry (origin, idx, leaf) VALUES ($1, $2, $3)', [
        key.name,
        index,
        Buffer.from(leaf),
      ]);
    }
    await sql.query('UPDATE log SET size = $2, published = $2, note = $3, served = $3 WHERE origin = $1', [
      key.name,
      size,
      note,
    ]);
    await whileAlive(sql, () => store.write('checkpoint', utf8(note)));
    return size - from;
  });
}

function signedByUs(note: string, key: NoteKey): { readonly size: number; readonly root: Uint8Array } {
  const { origin, size, root, note: signed } = parseCheckpoint(note);
  if (origin !== key.name || !isSignedBy(signed, key)) {
    throw refused('LOG_RECOVER', `a checkpoint of ${key.name}`, `one of ${origin}`);
  }
  return { size, root };
}
