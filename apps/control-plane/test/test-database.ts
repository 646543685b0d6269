/** A PostgreSQL database for one test, dropped at its end. */
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';

export interface TestDatabase {
  readonly url: string;
  /** Runs a statement as the server's administrator, outside of this database. */
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
  readonly name: string;
  drop(): Promise<void>;
}

export async function createTestDatabase(serverUrl: string): Promise<TestDatabase> {
  const admin = await new DataSource({ type: 'postgres', url: serverUrl, installExtensions: false }).initialize();
  const name = `veritrain_test_${randomBytes(4).toString('hex')}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    name,
    url: url.href,
    query: (sql, parameters) => admin.query(sql, parameters),
    drop: async () => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.destroy();
    },
  };
}
