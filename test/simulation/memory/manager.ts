/** The part of TypeORM's entity manager and data source that the services call, on the in-memory engine. */
import type { DataSource, EntityManager } from 'typeorm';
import { EntityNotFoundError, IsNull } from 'typeorm';
import { Webhook } from '#libs/persistence';
import type { Engine, OnConflict, Selection } from './engine.js';
import type { EntityClass, Row } from './schema.js';
import { Transaction, type Turns } from './transaction.js';
import type { Ordering, Where } from './where.js';

interface FindOptions {
  readonly where?: Where;
  readonly order?: Ordering;
  readonly take?: number;
  readonly lock?: { readonly mode: string; readonly onLocked?: string };
}

/** Statements of one transaction; without one, each statement is a transaction of its own. */
export class MemoryManager {
  constructor(
    private readonly engine: Engine,
    private readonly turns: Turns,
    private readonly transaction: Transaction | null,
  ) {}

  /** Rows as this transaction sees them, without a statement of its own: for subqueries. */
  peek(entity: EntityClass, where: Where): Row[] {
    const transaction = this.transaction ?? new Transaction(this.turns);
    return transaction.visible(this.engine.table(entity), where).map(([, row]) => row);
  }

  async find(entity: EntityClass, options: FindOptions = {}): Promise<object[]> {
    const rows = await this.select(entity, selectionOf(options));
    return rows.map((row) => entityOf(entity, row));
  }

  findBy(entity: EntityClass, where: Where): Promise<object[]> {
    return this.find(entity, { where });
  }

  async findOne(entity: EntityClass, options: FindOptions): Promise<object | null> {
    return (await this.find(entity, { ...options, take: 1 }))[0] ?? null;
  }

  findOneBy(entity: EntityClass, where: Where): Promise<object | null> {
    return this.findOne(entity, { where });
  }

  async findOneOrFail(entity: EntityClass, options: FindOptions): Promise<object> {
    const found = await this.findOne(entity, options);
    if (found === null) throw new EntityNotFoundError(entity, options);
    return found;
  }

  findOneByOrFail(entity: EntityClass, where: Where): Promise<object> {
    return this.findOneOrFail(entity, { where });
  }

  async existsBy(entity: EntityClass, where: Where): Promise<boolean> {
    return (await this.select(entity, { where, take: 1 })).length > 0;
  }

  async countBy(entity: EntityClass, where: Where): Promise<number> {
    return (await this.select(entity, { where })).length;
  }

  select(entity: EntityClass, selection: Selection): Promise<Row[]> {
    return this.run((transaction) => this.engine.select(transaction, entity, selection));
  }

  async insert(entity: EntityClass, values: Row | readonly Row[], onConflict: OnConflict = 'fail'): Promise<Inserted> {
    const raw: Row[] = [];
    await this.run(async (transaction) => {
      for (const row of Array.isArray(values) ? (values as Row[]) : [values as Row]) {
        const inserted = await this.engine.insert(transaction, entity, row, onConflict);
        if (inserted !== null) raw.push(inserted);
      }
    });
    return { raw, identifiers: raw };
  }

  async update(entity: EntityClass, where: Where, values: Row): Promise<{ affected: number }> {
    return { affected: await this.run((transaction) => this.engine.update(transaction, entity, where, values)) };
  }

  async delete(entity: EntityClass, where: Where): Promise<{ affected: number }> {
    return { affected: await this.run((transaction) => this.engine.delete(transaction, entity, where)) };
  }

  /** Looks first, as TypeORM does. @param row  an instance of the entity */
  async save(entity: EntityClass, row: Row): Promise<object> {
    const { primary } = this.engine.table(entity).schema;
    const key = Object.fromEntries(primary.map((column) => [column, row[column]]));
    if ((await this.findOneBy(entity, key)) === null) await this.insert(entity, row);
    else await this.update(entity, key, row);
    return row;
  }

  upsert(entity: EntityClass, values: Row, conflict: readonly string[]): Promise<Inserted> {
    const overwrite = Object.keys(values).filter((column) => !conflict.includes(column));
    return this.insert(entity, values, { conflict, overwrite });
  }

  /**
   * SQL in text: an advisory lock, a shared one held alone, what is done for webhooks while there are none, checkpoints in
   * pieces, which no simulated job has, and what a node is at, which nobody here reads; everything else is refused.
   */
  async query(sql: string, parameters: readonly unknown[] = []): Promise<never[]> {
    if (/^SELECT pg_advisory_xact_lock(_shared)?\(/.test(sql)) {
      await this.run((transaction) => this.engine.lock(transaction, `advisory ${String(parameters[0])}`));
      return [];
    }
    if (sql.startsWith('SELECT DISTINCT c.blob') || /^SELECT n\.id,\s+\(SELECT count/.test(sql)) return [];
    if (!sql.startsWith('INSERT INTO webhook_delivery')) throw new Error(`the in-memory engine does not read ${sql}`);
    const webhooks = await this.select(Webhook, { take: 1 });
    if (webhooks.length > 0) throw new Error('the in-memory engine delivers to no webhooks');
    return [];
  }

  createQueryBuilder(entity?: EntityClass): InsertChain | SelectChain {
    return entity === undefined ? new InsertChain(this) : new SelectChain(this, entity);
  }

  private run<T>(statement: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transaction === null ? this.engine.transact(this.turns, statement) : statement(this.transaction);
  }
}

interface Inserted {
  readonly raw: Row[];
  readonly identifiers: Row[];
}

/** `insert().into(E).values(v)` with what may follow. */
class InsertChain {
  #entity: EntityClass | null = null;
  #values: Row | readonly Row[] = [];
  #onConflict: OnConflict = 'fail';

  constructor(private readonly manager: MemoryManager) {}

  insert(): this {
    return this;
  }

  into(entity: EntityClass): this {
    this.#entity = entity;
    return this;
  }

  values(values: Row | readonly Row[]): this {
    this.#values = values;
    return this;
  }

  orIgnore(): this {
    this.#onConflict = 'ignore';
    return this;
  }

  /** Columns by their names in the database. */
  orUpdate(overwrite: readonly string[], conflict: readonly string[]): this {
    this.#onConflict = { overwrite: overwrite.map(camel), conflict: conflict.map(camel) };
    return this;
  }

  returning(): this {
    return this;
  }

  execute(): Promise<Inserted> {
    return this.manager.insert(this.#entity!, this.#values, this.#onConflict);
  }
}

/** `where('m.column IS NULL').orderBy('m.column').limit(n)`, locked with SKIP LOCKED. */
class SelectChain {
  #nullColumn = '';
  #order: Ordering = {};
  #take = 0;

  constructor(
    private readonly manager: MemoryManager,
    private readonly entity: EntityClass,
  ) {}

  where(condition: string): this {
    const [, column] = /^\w+\.(\w+) IS NULL$/.exec(condition) ?? [];
    if (column === undefined) throw new Error(`the in-memory engine does not read ${condition}`);
    this.#nullColumn = camel(column);
    return this;
  }

  orderBy(column: string): this {
    this.#order = { [camel(column.split('.')[1]!)]: 'ASC' };
    return this;
  }

  limit(take: number): this {
    this.#take = take;
    return this;
  }

  setLock(): this {
    return this;
  }

  setOnLocked(): this {
    return this;
  }

  async getMany(): Promise<object[]> {
    const rows = await this.manager.select(this.entity, {
      where: { [this.#nullColumn]: IsNull() },
      order: this.#order,
      take: this.#take,
      lock: 'skip',
    });
    return rows.map((row) => entityOf(this.entity, row));
  }
}

/** A copy that its reader may change. */
function entityOf(entity: EntityClass, row: Row): object {
  return Object.assign(Object.create(entity.prototype as object) as object, row);
}

function camel(column: string): string {
  return column.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

function selectionOf({ where, order, take, lock }: FindOptions): Selection {
  return {
    ...(where === undefined ? {} : { where }),
    ...(order === undefined ? {} : { order }),
    ...(take === undefined ? {} : { take }),
    lock: lock === undefined ? undefined : lock.onLocked === 'skip_locked' ? 'skip' : 'wait',
  };
}

/** What services take for a data source. A call that is not there fails loudly: it is missing from the class. */
export function memoryDataSource(engine: Engine, turns: Turns): DataSource {
  const managerOf = (transaction: Transaction | null) =>
    new MemoryManager(engine, turns, transaction) as unknown as EntityManager;
  const source = {
    manager: managerOf(null),
    transaction: <T>(work: (manager: EntityManager) => Promise<T>) =>
      engine.transact(turns, (transaction) => work(managerOf(transaction))),
  };
  return source as unknown as DataSource;
}
