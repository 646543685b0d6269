/** One suite for the in-memory engine and the SQL engines: the same calls get the same answers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { In, IsNull, LessThan, MoreThan, Not, type DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiKey, defaultCacheDirectory, Idempotency, openDatabase, OutboxMessage } from '#libs/persistence';
import { createTestDatabase } from '../../apps/control-plane/test/test-database.js';
import { Engine } from './memory/engine.js';
import { memoryDataSource } from './memory/manager.js';
import type { Turns } from './memory/transaction.js';

interface Opened {
  readonly source: DataSource;
  close(): Promise<void>;
}

/** Transactions take turns at every statement, as those of a server do. */
const turns: Turns = {
  check: () => undefined,
  statement: () => new Promise((resolve) => setImmediate(resolve)),
  block: (register) => new Promise((resolve) => register(resolve)),
  committed: () => Promise.resolve(),
};

const memory = (): Promise<Opened> =>
  Promise.resolve({ source: memoryDataSource(new Engine(), turns), close: () => Promise.resolve() });

async function embedded(): Promise<Opened> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'veritrain-engine-'));
  const database = await openDatabase({ kind: 'embedded', dataDirectory, cacheDirectory: defaultCacheDirectory() });
  const close = async (): Promise<void> => {
    await database.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  };
  return { source: database.dataSource, close };
}

const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];

async function server(): Promise<Opened> {
  const own = await createTestDatabase(serverUrl!);
  const database = await openDatabase({ kind: 'server', url: own.url, poolSize: 4 });
  const close = async (): Promise<void> => {
    await database.close();
    await own.drop();
  };
  return { source: database.dataSource, close };
}

const at = (seconds: number): Date => new Date(1_700_000_000_000 + 1000 * seconds);
const key = (id: string, changes: object = {}) => ({
  id,
  tenant: 'acme',
  role: 'client' as const,
  name: id,
  provider: null,
  secretHash: Buffer.from('00', 'hex'),
  createdAt: at(0),
  revokedAt: null,
  ...changes,
});
const message = (subject: string) => ({ topic: 't', subject, payload: {}, createdAt: at(0), publishedAt: null });
const codeOf = (error: { driverError?: { code?: string } }): string => error.driverError?.code ?? String(error);

function conformance(name: string, open: () => Promise<Opened>, hasManySessions: boolean): void {
  describe(name, () => {
    let opened: Opened;
    let source: DataSource;
    beforeAll(async () => {
      opened = await open();
      source = opened.source;
    });
    afterAll(async () => opened.close());
    const names = async (where: object, more: object = {}) =>
      (await source.manager.find(ApiKey, { where, order: { id: 'ASC' }, ...more })).map(({ id }) => id);

    it('finds by equality, lists, bounds and null, in order and up to a number', async () => {
      const rows = ['b', 'a', 'c', 'd'].map((id, index) => key(id, { tenant: 'find', createdAt: at(index) }));
      for (const row of rows) await source.manager.insert(ApiKey, row);
      await source.manager.update(ApiKey, { id: 'd' }, { revokedAt: at(9), provider: '0x1' });
      expect(await names({ tenant: 'find' })).toEqual(['a', 'b', 'c', 'd']);
      expect(await names({ tenant: 'find' }, { take: 2 })).toEqual(['a', 'b']);
      expect(await names({ tenant: 'find' }, { order: { createdAt: 'DESC' } })).toEqual(['d', 'c', 'a', 'b']);
      expect(await names({ tenant: 'find', createdAt: LessThan(at(2)) })).toEqual(['a', 'b']);
      expect(await names({ tenant: 'find', createdAt: MoreThan(at(1)) })).toEqual(['c', 'd']);
      expect(await names({ id: In(['a', 'd', 'x']) })).toEqual(['a', 'd']);
      expect(await names({ tenant: 'find', revokedAt: IsNull() })).toEqual(['a', 'b', 'c']);
      expect(await names({ tenant: 'find', provider: Not('0x2') })).toEqual(['d']);
      expect(await names({ tenant: 'find', revokedAt: Not(IsNull()) })).toEqual(['d']);
      expect(await names({ tenant: 'find' }, { order: { provider: 'ASC', id: 'DESC' } })).toEqual(['d', 'c', 'b', 'a']);
      expect(await source.manager.countBy(ApiKey, { tenant: 'find' })).toBe(4);
      expect(await source.manager.existsBy(ApiKey, { id: 'x' })).toBe(false);
    });

    it('gives numbers of 64 bits as text, in their own order', async () => {
      for (let n = 0; n < 11; n += 1) await source.manager.insert(OutboxMessage, message('numbers'));
      const rows = await source.manager.find(OutboxMessage, { where: { subject: 'numbers' }, order: { id: 'ASC' } });
      const ids = rows.map(({ id }) => Number(id));
      expect(rows.every(({ id }) => typeof id === 'string')).toBe(true);
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
      const where = { subject: 'numbers', id: MoreThan(rows[1]!.id) };
      expect(await source.manager.countBy(OutboxMessage, where)).toBe(9);
    });

    it('says how many rows it changed, and deletes', async () => {
      await source.manager.insert(ApiKey, key('u1', { tenant: 'change' }));
      await source.manager.insert(ApiKey, key('u2', { tenant: 'change' }));
      expect((await source.manager.update(ApiKey, { tenant: 'change' }, { name: 'new' })).affected).toBe(2);
      expect((await source.manager.update(ApiKey, { tenant: 'change', name: 'u1' }, { name: 'x' })).affected).toBe(0);
      expect((await source.manager.delete(ApiKey, { id: 'u1' })).affected).toBe(1);
      expect(await names({ tenant: 'change', name: 'new' })).toEqual(['u2']);
    });

    it('saves a row that is new, and one that is there', async () => {
      const save = (name: string) => source.manager.save(ApiKey, Object.assign(new ApiKey(), key('s', { name })));
      await save('first');
      await save('second');
      expect(await names({ id: 's', name: 'second' })).toEqual(['s']);
      expect(await source.manager.countBy(ApiKey, { id: 's' })).toBe(1);
    });

    it('refuses a twin, ignores it, or writes over it', async () => {
      const row = { tenant: 't', key: 'k', request: 'r', bodyHash: Buffer.alloc(1), status: null, createdAt: at(0) };
      const insert = (status: number) =>
        source.manager
          .createQueryBuilder()
          .insert()
          .into(Idempotency)
          .values({ ...row, status });
      expect((await insert(1).orIgnore().returning('key').execute()).raw).toHaveLength(1);
      expect((await insert(2).orIgnore().returning('key').execute()).raw).toHaveLength(0);
      expect(
        await insert(3)
          .execute()
          .then(() => 'ok', codeOf),
      ).toBe('23505');
      const where = { tenant: 't', key: 'k' };
      expect((await source.manager.findOneByOrFail(Idempotency, where)).status).toBe(1);
      await insert(4).orUpdate(['status'], ['tenant', 'key']).execute();
      expect((await source.manager.findOneByOrFail(Idempotency, where)).status).toBe(4);
    });

    it('undoes a transaction that throws, and sees its own changes before', async () => {
      const work = source.transaction(async (manager) => {
        await manager.insert(ApiKey, key('undo'));
        await manager.update(ApiKey, { id: 'undo' }, { name: 'mine' });
        expect((await manager.findOneByOrFail(ApiKey, { id: 'undo' })).name).toBe('mine');
        throw new Error('no');
      });
      await expect(work).rejects.toThrow('no');
      expect(await names({ id: 'undo' })).toEqual([]);
    });

    it('takes nothing more in a transaction after a failed statement', async () => {
      await source.manager.insert(ApiKey, key('twin'));
      const work = source.transaction(async (manager) => {
        await manager.insert(ApiKey, key('twin')).catch(() => undefined);
        await manager.insert(ApiKey, key('after'));
      });
      expect(await work.then(() => 'ok', codeOf)).toBe('25P02');
      expect(await names({ id: 'after' })).toEqual([]);
    });

    it('loses no increment of many at once under a row lock', async () => {
      await source.manager.insert(ApiKey, key('count', { name: '0' }));
      const add = () =>
        source.transaction(async (manager) => {
          const lock = { mode: 'pessimistic_write' } as const;
          const row = await manager.findOneOrFail(ApiKey, { where: { id: 'count' }, lock });
          await manager.update(ApiKey, { id: 'count' }, { name: String(Number(row.name) + 1) });
        });
      await Promise.all(Array.from({ length: 12 }, add));
      expect((await source.manager.findOneByOrFail(ApiKey, { id: 'count' })).name).toBe('12');
    });

    it('looks again after it waited: who no longer fits is not changed', async () => {
      await source.manager.insert(ApiKey, key('once', { name: 'free' }));
      const take = (who: string) => source.manager.update(ApiKey, { id: 'once', name: 'free' }, { name: who });
      const taken = await Promise.all(['x', 'y', 'z'].map(take));
      expect(taken.map(({ affected }) => affected).sort()).toEqual([0, 0, 1]);
    });

    it.skipIf(!hasManySessions)(
      'hides what is not committed, passes over locked rows, and breaks a deadlock',
      async () => {
        await source.manager.insert(ApiKey, key('p', { tenant: 'locks' }));
        await source.manager.insert(ApiKey, key('q', { tenant: 'locks' }));
        const skipping = {
          where: { tenant: 'locks' },
          lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
        } as const;
        await source.transaction(async (manager) => {
          await manager.update(ApiKey, { id: 'p' }, { name: 'changed' });
          expect((await source.manager.findOneByOrFail(ApiKey, { id: 'p' })).name).toBe('p');
          const seen = await source.transaction((other) => other.find(ApiKey, skipping));
          expect(seen.map(({ id }) => id)).toEqual(['q']);
        });
        let holders = 0;
        let meet: () => void = () => undefined;
        const bothHoldOne = new Promise<void>((resolve) => (meet = resolve));
        const cross = (first: string, second: string) =>
          source.transaction(async (manager) => {
            await manager.update(ApiKey, { id: first }, { name: 'cross' });
            if ((holders += 1) === 2) meet();
            await bothHoldOne;
            await manager.update(ApiKey, { id: second }, { name: 'cross' });
          });
        const ends = await Promise.allSettled([cross('p', 'q'), cross('q', 'p')]);
        const failed = ends.flatMap((end) => (end.status === 'rejected' ? [codeOf(end.reason as object)] : []));
        expect(failed).toEqual(['40P01']);
      },
    );
  });
}

conformance('in memory', memory, true);
conformance('embedded database', embedded, false);
if (serverUrl === undefined) console.warn('VERITRAIN_TEST_DATABASE_URL is not set: PostgreSQL is NOT tested');
else conformance('PostgreSQL', server, true);
