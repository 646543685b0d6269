/**
 * A release may be rolled out replica by replica, and back again: its migrations only ever add, so that the release
 * before works on their schema.
 */
import { expect, it } from 'vitest';
import type { QueryRunner } from 'typeorm';
import { migrations } from '../../../migrations/index.js';

/** Statements that a replica of the release before does not notice. */
const additive = [
  /^CREATE TABLE /,
  /^CREATE INDEX /,
  /^CREATE SEQUENCE /,
  /^ALTER TABLE "\w+" ADD CONSTRAINT "\w+" FOREIGN KEY /,
  /^(INSERT INTO|UPDATE) /,
];
const addsColumn = /^ALTER TABLE "\w+" ADD (COLUMN )?"\w+" /;

/** @param made  tables of the same migration: nobody has rows in them */
function isAdditive(statement: string, made: readonly string[] = []): boolean {
  const text = statement.trim().replace(/\s+/g, ' ');
  if (additive.some((form) => form.test(text))) return true;
  const unique = /^CREATE UNIQUE INDEX "\w+" ON "(\w+)"/.exec(text)?.[1];
  if (unique !== undefined) return made.includes(unique);
  // Rows that the release before inserts must go in: nothing may be demanded that it does not know of.
  return (
    addsColumn.test(text) &&
    (!/ NOT NULL/.test(text) || / DEFAULT /.test(text)) &&
    !/,\s*(DROP|ALTER|RENAME)/.test(text)
  );
}

async function statementsOf(migration: (typeof migrations)[number]): Promise<string[]> {
  const statements: string[] = [];
  const runner = { query: async (sql: string) => void statements.push(sql) } as unknown as QueryRunner;
  await new migration().up(runner);
  return statements;
}

it('every migration after the first only adds', async () => {
  for (const migration of migrations.slice(1)) {
    const statements = await statementsOf(migration);
    expect(statements.length, migration.name).toBeGreaterThan(0);
    const made = statements.flatMap((statement) => /CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []);
    const others = statements.filter((statement) => !isAdditive(statement, made));
    expect(others, migration.name).toEqual([]);
  }
});

it.each([
  'ALTER TABLE "job" DROP COLUMN "state"',
  'ALTER TABLE "job" RENAME "state" TO "phase"',
  'ALTER TABLE "job" ALTER "state" TYPE int',
  'ALTER TABLE "job" ADD "new" text NOT NULL',
  'ALTER TABLE "job" ADD "new" text, DROP COLUMN "state"',
  'ALTER TABLE "job" ADD CONSTRAINT "c" CHECK (false)',
  'CREATE UNIQUE INDEX "i" ON "job" ("tenant")',
  'DROP TABLE "job"',
  'DELETE FROM "job"',
  'TRUNCATE "job"',
])('%s would be found', (statement) => {
  expect(isAdditive(statement)).toBe(false);
});
