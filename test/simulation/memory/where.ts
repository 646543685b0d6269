/** Conditions of TypeORM's find options, on rows in memory. An operator that is not known is an error, not a match. */
import { FindOperator } from 'typeorm';
import type { Row, Schema } from './schema.js';

export type Where = Row | readonly Row[] | undefined;

export function matches(schema: Schema, where: Where, row: Row): boolean {
  if (where === undefined) return true;
  if (Array.isArray(where)) return where.some((part: Row) => matches(schema, part, row));
  return Object.entries(where as Row).every(([column, wanted]) => {
    if (wanted === undefined) return true;
    if (!schema.columns.includes(column)) throw new Error(`${schema.entity.name} has no ${column}`);
    return holds(schema, column, wanted, row[column]);
  });
}

function holds(schema: Schema, column: string, wanted: unknown, value: unknown): boolean {
  if (!(wanted instanceof FindOperator)) return compare(schema, column, value, wanted) === 0;
  const operand: unknown = wanted.value;
  if (wanted.type === 'isNull') return value === null;
  if (wanted.type === 'in') return (operand as unknown[]).some((item) => compare(schema, column, value, item) === 0);
  if (wanted.type === 'not') {
    const isInner = operand instanceof FindOperator;
    return isInner
      ? !holds(schema, column, operand, value)
      : compare(schema, column, value, operand) !== 0 && value !== null;
  }
  const bound = bounds[wanted.type];
  if (bound === undefined) throw new Error(`the in-memory engine has no operator ${wanted.type}`);
  return bound(compare(schema, column, value, operand));
}

/** What an order must be; one that is not a number, for a null, is none of these. */
const bounds: Readonly<Record<string, (order: number) => boolean>> = {
  lessThan: (order) => order < 0,
  lessThanOrEqual: (order) => order <= 0,
  moreThan: (order) => order > 0,
  moreThanOrEqual: (order) => order >= 0,
};

/** NaN, which equals and orders nothing, where a side is null. */
function compare(schema: Schema, column: string, left: unknown, right: unknown): number {
  if (left === null || left === undefined || right === null || right === undefined) return Number.NaN;
  if (schema.big.has(column)) return order(BigInt(left as string), BigInt(right as string));
  if (left instanceof Date) return order(left.getTime(), (right as Date).getTime());
  if (Buffer.isBuffer(left)) return Buffer.compare(left, right as Buffer);
  return order(left as string, right as string);
}

function order<T extends string | number | bigint>(left: T, right: T): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

export interface Ordering {
  readonly [column: string]: 'ASC' | 'DESC' | 'asc' | 'desc' | undefined;
}

/** Rows in order; PostgreSQL puts nulls last when ascending. */
export function sorted(schema: Schema, rows: Row[], ordering: Ordering | undefined): Row[] {
  const columns = Object.entries(ordering ?? {});
  if (columns.length === 0) return rows;
  return rows.sort((left, right) => {
    for (const [column, direction] of columns) {
      const sign = direction?.toLowerCase() === 'desc' ? -1 : 1;
      const isNull = [left[column] === null, right[column] === null];
      const difference =
        isNull[0] || isNull[1]
          ? Number(isNull[0]) - Number(isNull[1])
          : compare(schema, column, left[column], right[column]);
      if (difference !== 0) return sign * difference;
    }
    return 0;
  });
}

/** A column that the condition fixes to few values, for which the table has a look-up; null: look at every row. */
export function fixed(schema: Schema, where: Where): { column: string; values: readonly unknown[] } | null {
  if (where === undefined || Array.isArray(where)) return null;
  for (const column of schema.lookup) {
    const wanted = (where as Row)[column];
    if (wanted === undefined) continue;
    if (!(wanted instanceof FindOperator)) return { column, values: [wanted] };
    if (wanted.type === 'in') return { column, values: wanted.value as unknown[] };
    if (wanted.type === 'isNull') return { column, values: [null] };
  }
  return null;
}
