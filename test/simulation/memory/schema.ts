/** What the in-memory engine knows of a table: read from the same decorators that PostgreSQL's schema is made of. */
import { getMetadataArgsStorage } from 'typeorm';

export type Row = Record<string, unknown>;
export type EntityClass<T = object> = new () => T;

interface UniqueRule {
  readonly columns: readonly string[];
  /** A partial index: rows whose column has another value do not count. */
  readonly where: { readonly column: string; readonly value: string } | null;
}

export interface Schema {
  readonly entity: EntityClass;
  readonly primary: readonly string[];
  readonly unique: readonly UniqueRule[];
  /** Columns that are numbered by the database. */
  readonly generated: readonly string[];
  readonly defaults: Row;
  /** 64-bit numbers, kept as decimal text. */
  readonly big: ReadonlySet<string>;
  readonly columns: readonly string[];
  /** Columns that rows are looked up by. */
  readonly lookup: readonly string[];
}

const schemas = new Map<EntityClass, Schema>();

export function schemaOf(entity: EntityClass): Schema {
  const known = schemas.get(entity);
  if (known !== undefined) return known;
  const schema = readSchema(entity);
  schemas.set(entity, schema);
  return schema;
}

/** Columns may stand in a class that the entity extends. */
function isOf(entity: EntityClass, target: unknown): boolean {
  return target === entity || (typeof target === 'function' && entity.prototype instanceof target);
}

function readSchema(entity: EntityClass): Schema {
  const metadata = getMetadataArgsStorage();
  const columns = metadata.columns.filter(({ target }) => isOf(entity, target));
  if (columns.length === 0) throw new Error(`${entity.name} is no entity`);
  const primary = columns.filter(({ options }) => options.primary === true).map(({ propertyName }) => propertyName);
  const generated = metadata.generations.filter(({ target }) => target === entity).map((g) => g.propertyName);
  const indices = metadata.indices.filter(({ target }) => target === entity);
  const unique = indices
    .filter((index) => index.unique === true)
    .map(({ columns: named, where }) => ({
      columns: (named ?? []) as string[],
      where: where === undefined ? null : partial(where),
    }));
  const defaults = Object.fromEntries(
    columns.map(({ propertyName, options }) => [propertyName, options.default ?? null]),
  );
  return {
    entity,
    primary,
    unique: [{ columns: primary, where: null }, ...unique],
    generated,
    defaults,
    big: new Set(columns.filter(({ options }) => options.type === 'bigint').map(({ propertyName }) => propertyName)),
    columns: columns.map(({ propertyName }) => propertyName),
    lookup: [...new Set([...primary, ...lookups.filter((name) => name in defaults)])],
  };
}

const lookups = ['jobId', 'leaseId', 'state', 'escrowId', 'name', 'publishedAt', 'datasetId', 'tenant'];

function partial(where: string): { column: string; value: string } {
  const [, column, value] = /^"(\w+)" = '(\w+)'$/.exec(where) ?? [];
  if (column === undefined || value === undefined) throw new Error(`a partial index with ${where}`);
  return { column, value };
}

/** The key of a row under a rule; null when the rule does not count this row. */
export function keyUnder(rule: UniqueRule, row: Row): string | null {
  if (rule.where !== null && row[rule.where.column] !== rule.where.value) return null;
  if (rule.columns.some((column) => row[column] === null)) return null;
  return rule.columns.map((column) => String(row[column])).join('\u0000');
}

/** A row as the database would give it back: every column present, 64-bit numbers as text. */
export function normalise(schema: Schema, values: Row): Row {
  const row: Row = {};
  for (const column of schema.columns) {
    const value = values[column] === undefined ? schema.defaults[column] : values[column];
    row[column] = schema.big.has(column) && value !== null ? String(value) : value;
  }
  return row;
}
