/** Opens the database: PGlite in the data directory by default, PostgreSQL (15 or newer) when a URL is given. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { DataSource } from 'typeorm';
import { lockDirectory } from '#libs/process';
import { sharedOptions } from './options.js';
import { GuardedClient } from './pg-client.js';
import { copyTemplate, embeddedOptions, ensureTemplate } from './template.js';

type DatabaseLocation =
  | { readonly kind: 'embedded'; readonly dataDirectory: string; readonly cacheDirectory: string }
  | { readonly kind: 'server'; readonly url: string; readonly poolSize: number };

export interface Database {
  readonly dataSource: DataSource;
  close(): Promise<void>;
}

/** Pending migrations are run before this returns. @throws ConfigurationError DATA_DIRECTORY_IN_USE */
export async function openDatabase(location: DatabaseLocation): Promise<Database> {
  return location.kind === 'embedded' ? openEmbedded(location) : openServer(location);
}

async function openEmbedded(location: DatabaseLocation & { kind: 'embedded' }): Promise<Database> {
  const lock = lockDirectory(location.dataDirectory);
  try {
    const directory = join(location.dataDirectory, 'database');
    if (!existsSync(directory)) copyTemplate(await ensureTemplate(location.cacheDirectory), directory);
    const db = await PGlite.create(directory);
    const dataSource = await new DataSource({ ...embeddedOptions(db), migrationsRun: true }).initialize();
    return {
      dataSource,
      close: async () => {
        await dataSource.destroy();
        await db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Any number; the same in every process that migrates one database. */
const migrationLock = 0x76657269;

async function openServer(location: DatabaseLocation & { kind: 'server' }): Promise<Database> {
  const dataSource = await new DataSource({
    ...sharedOptions,
    url: location.url,
    extra: {
      ...{ max: location.poolSize, Client: GuardedClient },
      ...{
        connectionTimeoutMillis: 5000,
        statement_timeout: 30_000,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
      },
    },
    poolErrorHandler: () => undefined,
  }).initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    await dataSource.runMigrations();
  } finally {
    await runner.query('SELECT pg_advisory_unlock($1)', [migrationLock]);
    await runner.release();
  }
  return { dataSource, close: () => dataSource.destroy() };
}
