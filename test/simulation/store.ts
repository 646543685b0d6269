/** The database of a simulation: in memory, where transactions interleave at every statement, or PGlite, the real SQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource, EntityManager } from 'typeorm';
import { defaultCacheDirectory, openDatabase } from '#libs/persistence';
import type { JobQueue } from '../../apps/control-plane/src/jobs/job-queue.js';
import { Engine } from './memory/engine.js';
import { memoryDataSource } from './memory/manager.js';
import { MemoryJobQueue } from './memory/queue.js';
import type { Turns } from './memory/transaction.js';

export const engines = ['memory', 'pglite'] as const;
export type EngineName = (typeof engines)[number];

export interface Store {
  /** A replica's way to the database. */
  open(turns: Turns): DataSource;
  /** Stands in for the queue's SQL; null: the SQL itself runs. */
  readonly queue: JobQueue | null;
  /** Without faults, for the audit. */
  readonly manager: EntityManager;
  close(): Promise<void>;
}

export function openStore(engine: EngineName): Promise<Store> {
  return engine === 'memory' ? Promise.resolve(memoryStore()) : pgliteStore();
}

/** Nobody else runs, and nothing fails. */
const alone: Turns = {
  check: () => undefined,
  statement: () => Promise.resolve(),
  block: () => Promise.reject(new Error('nobody will ever release this lock')),
  committed: () => Promise.resolve(),
};

function memoryStore(): Store {
  const engine = new Engine();
  return {
    open: (turns) => memoryDataSource(engine, turns),
    queue: new MemoryJobQueue(),
    manager: memoryDataSource(engine, alone).manager,
    close: () => Promise.resolve(),
  };
}

async function pgliteStore(): Promise<Store> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'veritrain-simulation-'));
  const database = await openDatabase({ kind: 'embedded', dataDirectory, cacheDirectory: defaultCacheDirectory() });
  return {
    open: (turns) => faulty(database.dataSource, turns),
    queue: null,
    manager: database.dataSource.manager,
    close: async () => {
      await database.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}

/** PGlite has one session: a transaction runs without a pause, and breaks before its work, before or after its commit. */
function faulty(source: DataSource, turns: Turns): DataSource {
  const transaction = async <T>(work: (manager: EntityManager) => Promise<T>): Promise<T> => {
    await turns.statement();
    const result = await source.transaction(async (manager) => {
      const done = await work(manager);
      turns.check();
      return done;
    });
    await turns.committed();
    return result;
  };
  return new Proxy(source, {
    get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name, target)),
  });
}
