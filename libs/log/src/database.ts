/** What a log needs of a database, by PostgreSQL or by the embedded one. */
import type { PGlite } from '@electric-sql/pglite';
import type pg from 'pg';

export interface Sql {
  query<T>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

export interface LogDatabase extends Sql {
  /** Committed when `act` returns, undone when it throws. */
  transaction<T>(act: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * The commit decides the tree. `log.note` is signed for `size`; `served` for `published`, with all cosignatures.
 * `log_witnessed` has the checkpoints that a quorum saw: an entry is proved under the first that holds it. `log_lease`
 * says which replica anchors.
 */
const schema = `
  CREATE TABLE IF NOT EXISTS log (
    origin text PRIMARY KEY, size bigint NOT NULL, published bigint NOT NULL, note text NOT NULL, served text NOT NULL);
  CREATE TABLE IF NOT EXISTS log_pending (
    id bigserial PRIMARY KEY, origin text NOT NULL, leaf bytea NOT NULL, entry bytea NOT NULL, UNIQUE (origin, leaf));
  CREATE TABLE IF NOT EXISTS log_entry (
    origin text NOT NULL, idx bigint NOT NULL, leaf bytea NOT NULL, entry bytea,
    PRIMARY KEY (origin, idx), UNIQUE (origin, leaf));
  CREATE TABLE IF NOT EXISTS log_witnessed (
    origin text NOT NULL, size bigint NOT NULL, note text NOT NULL, PRIMARY KEY (origin, size));
  CREATE TABLE IF NOT EXISTS log_lease (origin text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL);`;

/** A process that is stopped amid a transaction keeps its lock so long. */
const idleInTransactionMs = 1000;

/** @param url  of PostgreSQL 15 or newer, or the directory of an embedded database */
export async function openLogDatabase(location: { readonly url: string } | { readonly directory: string }) {
  const database = 'url' in location ? await openServer(location.url) : await openEmbedded(location.directory);
  await database.transaction(async (sql) => {
    if ('url' in location) await sql.query('SELECT pg_advisory_xact_lock($1)', [0x746c6f67]);
    for (const statement of schema.split(';')) if (statement.trim() !== '') await sql.query(statement);
  });
  return database;
}

/** Drivers are loaded by whoever keeps a log, and by nobody who asks one. */
async function openServer(url: string): Promise<LogDatabase> {
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({
    connectionString: url,
    max: 6,
    connectionTimeoutMillis: 5000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // A connection that breaks while nobody uses it is replaced at the next query.
  pool.on('error', () => undefined);
  // Between the pool's listener and that of whoever takes it, a connection that breaks would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const asSql = (client: pg.Pool | pg.PoolClient): Sql => ({
    query: async (text, values = []) => (await client.query(text, [...values])).rows,
  });
  return {
    ...asSql(pool),
    transaction: async (act) => {
      const client = await pool.connect();
      let failure: Error | undefined;
      const onError = (error: Error): void => void (failure = error);
      client.on('error', onError);
      try {
        await client.query('BEGIN');
        const result = await act(asSql(client));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((broken: Error) => (failure = broken));
        throw error;
      } finally {
        client.removeListener('error', onError);
        client.release(failure);
      }
    },
    close: () => pool.end(),
  };
}

async function openEmbedded(directory: string): Promise<LogDatabase> {
  const { PGlite: Embedded } = await import('@electric-sql/pglite');
  const db: PGlite = await Embedded.create(directory);
  return {
    query: async <T>(text: string, values: readonly unknown[] = []) => (await db.query<T>(text, [...values])).rows,
    transaction: (act) =>
      db.transaction((transaction) =>
        act({
          query: async <T>(text: string, values: readonly unknown[] = []) =>
            (await transaction.query<T>(text, [...values])).rows,
        }),
      ),
    close: () => db.close(),
  };
}
