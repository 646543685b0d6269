/** One transaction: what it changed and not yet committed, and the locks that it holds until its end. */
import type { Row } from './schema.js';
import { fixed, matches, type Where } from './where.js';
import type { Table } from './table.js';

/** How the engine gives way to others. */
export interface Turns {
  /** Throws when the connection is to break now. */
  check(): void;
  /** Before every statement. */
  statement(): Promise<void>;
  /** Until another transaction ends. */
  block(register: (resume: () => void) => void): Promise<void>;
  /** After a commit, before the caller hears of it. */
  committed(): Promise<void>;
}

export class Transaction {
  readonly changes = new Map<Table, Map<string, Row | null>>();
  readonly held = new Set<string>();
  waitsFor: Transaction | null = null;
  /** After a failed statement PostgreSQL takes nothing but a rollback. */
  isBroken = false;

  constructor(readonly turns: Turns) {}

  row(table: Table, key: string): Row | undefined {
    const changed = this.changes.get(table)?.get(key);
    if (changed === null) return undefined;
    return changed ?? table.rows.get(key);
  }

  set(table: Table, key: string, row: Row | null): void {
    let changed = this.changes.get(table);
    if (changed === undefined) this.changes.set(table, (changed = new Map()));
    changed.set(key, row);
  }

  /** Rows that this transaction sees: its own changes and what others committed. */
  visible(table: Table, where: Where): [key: string, row: Row][] {
    const found: [string, Row][] = [];
    const changed = this.changes.get(table);
    const narrow = fixed(table.schema, where);
    for (const key of narrow === null ? table.rows.keys() : table.having(narrow.column, narrow.values)) {
      if (changed?.has(key) === true) continue;
      const row = table.rows.get(key)!;
      if (matches(table.schema, where, row)) found.push([key, row]);
    }
    for (const [key, row] of changed ?? []) {
      if (row !== null && matches(table.schema, where, row)) found.push([key, row]);
    }
    return found;
  }
}

interface Hold {
  readonly owner: Transaction;
  readonly waiting: (() => void)[];
}

/** Exclusive locks by name, held to the end of their transaction. */
export class Locks {
  readonly #held = new Map<string, Hold>();

  /**
   * @returns false when `skip` is set and another holds it
   * @throws Error with SQLSTATE 40P01 instead of waiting for itself
   */
  async take(transaction: Transaction, name: string, skip = false): Promise<boolean> {
    for (;;) {
      const hold = this.#held.get(name);
      if (hold === undefined) {
        this.#held.set(name, { owner: transaction, waiting: [] });
        transaction.held.add(name);
        return true;
      }
      if (hold.owner === transaction) return true;
      if (skip) return false;
      for (let other: Transaction | null = hold.owner; other !== null; other = other.waitsFor) {
        if (other === transaction) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      }
      transaction.waitsFor = hold.owner;
      await transaction.turns.block((resume) => void hold.waiting.push(resume));
      transaction.waitsFor = null;
    }
  }

  release(transaction: Transaction): void {
    for (const name of transaction.held) {
      const hold = this.#held.get(name)!;
      this.#held.delete(name);
      for (const resume of hold.waiting) resume();
    }
    transaction.held.clear();
  }
}
