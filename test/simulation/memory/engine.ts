/**
 * A database engine in memory with PostgreSQL's read-committed rules, for as much of TypeORM's entity manager as the
 * control plane's services use: rows locked by writers until commit, writers that wait look again, unique rules across
 * running transactions, SKIP LOCKED, deadlocks found. engine.test.ts holds it against the real engines.
 */
import { QueryFailedError } from 'typeorm';
import { keyUnder, normalise, type EntityClass, type Row } from './schema.js';
import { Table } from './table.js';
import { Locks, Transaction, type Turns } from './transaction.js';
import { matches, sorted, type Ordering, type Where } from './where.js';

export interface Selection {
  readonly where?: Where;
  readonly order?: Ordering;
  readonly take?: number;
  readonly lock?: 'wait' | 'skip' | undefined;
  /** Beyond what `where` can say. */
  readonly filter?: (row: Row) => boolean;
}

export type OnConflict =
  'fail' | 'ignore' | { readonly conflict: readonly string[]; readonly overwrite: readonly string[] };

export class Engine {
  readonly #tables = new Map<EntityClass, Table>();
  readonly #locks = new Locks();
  statements = 0;

  table(entity: EntityClass): Table {
    let table = this.#tables.get(entity);
    if (table === undefined) this.#tables.set(entity, (table = new Table(entity)));
    return table;
  }

  async transact<T>(turns: Turns, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const transaction = new Transaction(turns);
    let result: T;
    try {
      result = await work(transaction);
      await turns.statement();
      if (transaction.isBroken) throw failed('25P02', 'the transaction is aborted');
      this.commit(transaction);
    } finally {
      this.#locks.release(transaction);
    }
    await turns.committed();
    return result;
  }

  private commit({ changes }: Transaction): void {
    for (const [table, changed] of changes) {
      for (const [key, row] of changed) {
        if (row === null) table.remove(key);
        else table.put(key, row);
      }
    }
  }

  /** Rows as they are stored: whoever changes one copies it first. */
  select(
    transaction: Transaction,
    entity: EntityClass,
    { where, order, take, lock, filter }: Selection,
  ): Promise<Row[]> {
    return this.statement(transaction, async () => {
      const table = this.table(entity);
      const found = transaction.visible(table, where).filter(([, row]) => filter?.(row) ?? true);
      const keys = new Map(found.map(([key, row]) => [row, key]));
      const rows = sorted(table.schema, [...keys.keys()], order);
      if (lock === undefined) return rows.slice(0, take);
      const locked: Row[] = [];
      for (const row of rows) {
        if (locked.length === take) break;
        const key = keys.get(row)!;
        if (!(await this.#locks.take(transaction, `${table.name} ${key}`, lock === 'skip'))) continue;
        const now = transaction.row(table, key);
        const stillWanted = now !== undefined && matches(table.schema, where, now) && (filter?.(now) ?? true);
        if (stillWanted) locked.push(now);
      }
      return locked;
    });
  }

  insert(transaction: Transaction, entity: EntityClass, values: Row, onConflict: OnConflict): Promise<Row | null> {
    return this.statement(transaction, async () => {
      const table = this.table(entity);
      const row = normalise(table.schema, values);
      for (const column of table.schema.generated) row[column] = table.next();
      const existing = await this.claim(transaction, table, row);
      if (existing === null) {
        const key = table.keyOf(row);
        await this.#locks.take(transaction, `${table.name} ${key}`);
        transaction.set(table, key, row);
        return { ...row };
      }
      if (onConflict === 'ignore') return null;
      if (onConflict === 'fail') throw failed('23505', `a row of ${table.name} is there already`);
      await this.#locks.take(transaction, `${table.name} ${existing}`);
      const overwritten = Object.fromEntries(onConflict.overwrite.map((column) => [column, row[column]]));
      await this.change(transaction, table, existing, overwritten);
      return { ...transaction.row(table, existing)! };
    });
  }

  update(transaction: Transaction, entity: EntityClass, where: Where, values: Row): Promise<number> {
    return this.each(transaction, entity, where, (table, key) => this.change(transaction, table, key, values));
  }

  delete(transaction: Transaction, entity: EntityClass, where: Where): Promise<number> {
    return this.each(transaction, entity, where, async (table, key) => transaction.set(table, key, null));
  }

  /** Until the transaction ends. */
  async lock(transaction: Transaction, name: string): Promise<void> {
    await this.statement(transaction, () => this.#locks.take(transaction, name));
  }

  private each(
    transaction: Transaction,
    entity: EntityClass,
    where: Where,
    act: (table: Table, key: string) => Promise<void>,
  ): Promise<number> {
    return this.statement(transaction, async () => {
      const table = this.table(entity);
      let affected = 0;
      for (const [key] of transaction.visible(table, where)) {
        await this.#locks.take(transaction, `${table.name} ${key}`);
        const now = transaction.row(table, key);
        if (now === undefined || !matches(table.schema, where, now)) continue;
        await act(table, key);
        affected += 1;
      }
      return affected;
    });
  }

  private async change(transaction: Transaction, table: Table, key: string, values: Row): Promise<void> {
    const before = transaction.row(table, key)!;
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
    const after = normalise(table.schema, { ...before, ...given });
    const existing = await this.claim(transaction, table, after, before, key);
    if (existing !== null) throw failed('23505', `a row of ${table.name} is there already`);
    transaction.set(table, key, after);
  }

  /**
   * Takes the keys that a row gains or gives up under the unique rules; waits for transactions that hold them.
   * @returns key of another row that has one of them, or null
   */
  private async claim(
    transaction: Transaction,
    table: Table,
    after: Row,
    before: Row | null = null,
    own: string | null = null,
  ): Promise<string | null> {
    for (const [index, rule] of table.schema.unique.entries()) {
      const gained = keyUnder(rule, after);
      const given = before === null ? null : keyUnder(rule, before);
      if (gained === given) continue;
      if (given !== null) await this.#locks.take(transaction, `${table.name} unique ${index} ${given}`);
      if (gained === null) continue;
      await this.#locks.take(transaction, `${table.name} unique ${index} ${gained}`);
      const holder = this.holder(transaction, table, index, gained);
      if (holder !== null && holder !== own) return holder;
    }
    return null;
  }

  private holder(transaction: Transaction, table: Table, index: number, key: string): string | null {
    const rule = table.schema.unique[index]!;
    const changed = transaction.changes.get(table);
    for (const [own, row] of changed ?? []) if (row !== null && keyUnder(rule, row) === key) return own;
    const committed = table.holderOf(index, key);
    return committed === undefined || changed?.has(committed) === true ? null : committed;
  }

  private async statement<T>(transaction: Transaction, run: () => Promise<T>): Promise<T> {
    if (transaction.isBroken) throw failed('25P02', 'the transaction is aborted');
    try {
      this.statements += 1;
      await transaction.turns.statement();
      return await run();
    } catch (error) {
      transaction.isBroken = true;
      throw error instanceof QueryFailedError ? error : wrapped(error as Error);
    }
  }
}

function failed(code: string, message: string): QueryFailedError {
  return wrapped(Object.assign(new Error(message), { code }));
}

function wrapped(error: Error): QueryFailedError {
  return new QueryFailedError('(in memory)', [], error);
}
