/** The schema as text, the same from both engines; migrations/schema.sql is its golden copy. */
import type { DataSource } from 'typeorm';

interface Line {
  readonly line: string;
}

const columns = `
  SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type,
         a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS "default", a.attidentity AS identity
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE c.relkind = 'r' ORDER BY c.relname COLLATE "C", a.attname COLLATE "C"`;

const constraints = `
  SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s;', t.relname, c.conname, pg_get_constraintdef(c.oid)) AS line
  FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
  JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = 'public'
  WHERE c.contype IN ('p', 'u', 'f', 'c') ORDER BY t.relname COLLATE "C", c.conname COLLATE "C"`;

const indexes = `
  SELECT i.indexdef || ';' AS line FROM pg_indexes i WHERE i.schemaname = 'public'
  AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)
  ORDER BY i.tablename COLLATE "C", i.indexname COLLATE "C"`;

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly required: boolean;
  readonly default: string | null;
}

export async function dumpSchema(dataSource: DataSource): Promise<string> {
  const tables = new Map<string, string[]>();
  for (const row of await dataSource.query<ColumnRow[]>(columns)) {
    const parts = [`"${row.column}"`, row.type];
    if (row.required) parts.push('NOT NULL');
    if (row.default !== null) parts.push(`DEFAULT ${row.default}`);
    tables.set(row.table, [...(tables.get(row.table) ?? []), `  ${parts.join(' ')}`]);
  }
  const created = [...tables].map(([name, lines]) => `CREATE TABLE "${name}" (\n${lines.join(',\n')}\n);\n`);
  const rest = [...(await dataSource.query<Line[]>(constraints)), ...(await dataSource.query<Line[]>(indexes))].map(
    (row) => row.line,
  );
  return `${created.join('\n')}\n${rest.join('\n')}\n`;
}
