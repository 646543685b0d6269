/** The committed rows of one table, with look-ups by column and by unique rule. */
import { keyUnder, schemaOf, type EntityClass, type Row, type Schema } from './schema.js';

export class Table {
  readonly schema: Schema;
  readonly rows = new Map<string, Row>();
  readonly #lookups: ReadonlyMap<string, Map<string, Set<string>>>;
  readonly #unique: readonly Map<string, string>[];
  #sequence = 0;

  constructor(entity: EntityClass) {
    this.schema = schemaOf(entity);
    this.#lookups = new Map(this.schema.lookup.map((column) => [column, new Map<string, Set<string>>()]));
    this.#unique = this.schema.unique.map(() => new Map<string, string>());
  }

  get name(): string {
    return this.schema.entity.name;
  }

  /** The next number of a generated column; numbers are not taken back. */
  next(): string {
    this.#sequence += 1;
    return String(this.#sequence);
  }

  keyOf(row: Row): string {
    return keyUnder(this.schema.unique[0]!, row)!;
  }

  /** Keys of committed rows that have one of these values. */
  having(column: string, values: readonly unknown[]): Iterable<string> {
    const lookup = this.#lookups.get(column)!;
    if (values.length === 1) return lookup.get(String(values[0])) ?? [];
    return new Set(values.flatMap((value) => [...(lookup.get(String(value)) ?? [])]));
  }

  /** Key of the committed row that counts under a unique rule with this key. */
  holderOf(rule: number, key: string): string | undefined {
    return this.#unique[rule]!.get(key);
  }

  put(key: string, row: Row): void {
    const before = this.rows.get(key);
    this.rows.set(key, row);
    for (const [column, lookup] of this.#lookups) {
      if (before !== undefined && before[column] === row[column]) continue;
      if (before !== undefined) take(lookup, String(before[column]), key);
      const value = String(row[column]);
      const keys = lookup.get(value);
      if (keys === undefined) lookup.set(value, new Set([key]));
      else keys.add(key);
    }
    this.schema.unique.forEach((rule, index) => {
      const after = keyUnder(rule, row);
      const former = before === undefined ? null : keyUnder(rule, before);
      if (former === after) return;
      const holders = this.#unique[index]!;
      if (former !== null && holders.get(former) === key) holders.delete(former);
      if (after !== null) holders.set(after, key);
    });
  }

  remove(key: string): void {
    const row = this.rows.get(key);
    if (row === undefined) return;
    this.rows.delete(key);
    for (const [column, lookup] of this.#lookups) take(lookup, String(row[column]), key);
    this.schema.unique.forEach((rule, index) => {
      const under = keyUnder(rule, row);
      if (under !== null && this.#unique[index]!.get(under) === key) this.#unique[index]!.delete(under);
    });
  }
}

function take(lookup: Map<string, Set<string>>, value: string, key: string): void {
  const keys = lookup.get(value)!;
  keys.delete(key);
  if (keys.size === 0) lookup.delete(value);
}
