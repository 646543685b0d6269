import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DataSource, type QueryRunner } from 'typeorm';
import { ApiKey, defaultCacheDirectory, dumpSchema, openDatabase, OutboxMessage, type Database } from './index.js';
import { lockDirectory } from '#libs/process';

const golden = new URL('../../../migrations/schema.sql', import.meta.url);
const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
const directory = mkdtempSync(join(tmpdir(), 'veritrain-persistence-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const embedded = (name: string) =>
  openDatabase({ kind: 'embedded', dataDirectory: join(directory, name), cacheDirectory: defaultCacheDirectory() });

/** A PostgreSQL database of its own, dropped at the end. */
async function server(): Promise<Database> {
  const admin = await new DataSource({ type: 'postgres', url: serverUrl!, installExtensions: false }).initialize();
  const name = `veritrain_test_${process.pid}`;
  await admin.query(`DROP DATABASE IF EXISTS ${name}`);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(serverUrl!);
  url.pathname = `/${name}`;
  const database = await openDatabase({ kind: 'server', url: url.href, poolSize: 8 });
  return {
    dataSource: database.dataSource,
    close: async () => {
      await database.close();
      await admin.query(`DROP DATABASE ${name}`);
      await admin.destroy();
    },
  };
}

function key(id: string): ApiKey {
  return Object.assign(new ApiKey(), {
    id,
    tenant: 'test',
    role: 'client',
    name: id,
    secretHash: Buffer.from('00ff', 'hex'),
    createdAt: new Date(0),
    revokedAt: null,
  });
}

/** Bytes in use when nothing is left to collect. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

describe('the embedded database', () => {
  it('keeps nothing of what it has answered', async () => {
    const database = await embedded('answers');
    const ask = async (times: number): Promise<void> => {
      for (let at = 0; at < times; at++) {
        await database.dataSource.query(`SELECT repeat('x', 1000) || n AS text FROM generate_series(1, 50) AS n`);
      }
    };
    await ask(50);
    const before = heapBytes();
    await ask(600);
    expect(heapBytes() - before).toBeLessThan(10 * 2 ** 20);
    await database.close();
  });
});

function conformance(engine: string, open: () => Promise<Database>): void {
  describe(engine, () => {
    let database: Database;
    beforeAll(async () => {
      database = await open();
    });
    afterAll(async () => database.close());

    it('has the golden schema', async () => {
      expect(await dumpSchema(database.dataSource)).toBe(readFileSync(golden, 'utf8'));
    });

    it('has nothing left to migrate', async () => {
      const builder = database.dataSource.driver.createSchemaBuilder();
      expect((await builder.log()).upQueries.map((query) => query.query)).toEqual([]);
    });

    it('keeps bytes as bytes and numbers of 64 bits as text', async () => {
      const { manager } = database.dataSource;
      await manager.insert(ApiKey, key('aaaa'));
      expect((await manager.findOneByOrFail(ApiKey, { id: 'aaaa' })).secretHash.toString('hex')).toBe('00ff');
      const row = { topic: 't', subject: 's', payload: {}, createdAt: new Date(0), publishedAt: null };
      const inserted = await manager.insert(OutboxMessage, row);
      expect(inserted.identifiers[0]!['id']).toMatch(/^[0-9]+$/);
    });

    it('rolls a transaction back whole', async () => {
      const failing = database.dataSource.transaction(async (manager) => {
        await manager.insert(ApiKey, key('bbbb'));
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(await database.dataSource.manager.countBy(ApiKey, { id: 'bbbb' })).toBe(0);
    });

    it('keeps 40 concurrent transactions apart', async () => {
      const add = (n: number) =>
        database.dataSource.transaction(async (manager) => {
          await manager.insert(ApiKey, key(`c${n}`));
          await manager.update(ApiKey, { id: `c${n}` }, { name: `done ${n}` });
        });
      await Promise.all(Array.from({ length: 40 }, (_, n) => add(n)));
      const rows = await database.dataSource.query(`SELECT count(*) AS n FROM api_key WHERE name LIKE 'done %'`);
      expect(rows[0].n).toBe('40');
    });

    it('goes on after a connection breaks in mid-transaction', async () => {
      const runner = database.dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.manager.insert(ApiKey, key('dddd'));
      await breakConnection(runner);
      await expect(runner.query('SELECT 1')).rejects.toThrow();
      await runner.release().catch(() => undefined);
      expect(await database.dataSource.manager.countBy(ApiKey, { id: 'dddd' })).toBe(0);
    });
  });
}

async function breakConnection(runner: QueryRunner): Promise<void> {
  const client = (await runner.connect()) as { connection: { stream: Duplex } };
  const { stream } = client.connection;
  stream.destroy();
  if (!stream.closed) await once(stream, 'close');
}

conformance('embedded database', () => embedded('conformance'));
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');
else conformance('PostgreSQL', server);

describe('embedded database directory', () => {
  it('keeps what was committed', async () => {
    const first = await embedded('kept');
    await first.dataSource.manager.insert(ApiKey, key('eeee'));
    await first.close();
    const second = await embedded('kept');
    expect(await second.dataSource.manager.countBy(ApiKey, { id: 'eeee' })).toBe(1);
    await second.close();
  });

  it('refuses a second opener', async () => {
    const first = await embedded('locked');
    await expect(embedded('locked')).rejects.toMatchObject({ code: 'DATA_DIRECTORY_IN_USE' });
    await first.close();
    await (await embedded('locked')).close();
  });

  it('takes over the lock of a process that is gone', () => {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    const place = join(directory, 'stale');
    mkdirSync(place);
    for (const stale of [`${gone} 1\n`, `${process.pid} 1\n`, 'rubbish', '']) {
      writeFileSync(join(place, 'veritrain.lock'), stale);
      lockDirectory(place).release();
    }
  });
});
