/** The rows that the former release left of a job that it took from its order to its settlement on simulated hardware. */
import { readFileSync } from 'node:fs';

export type Row = Readonly<Record<string, unknown>>;
interface Said {
  readonly tier: string;
  readonly checks: Readonly<Record<string, string>>;
}
interface Former {
  /** As the release of then gave it, and what its own reader said under the policy of the job, and without one. */
  readonly bundle: { readonly sha256: string; readonly verdict: Said; readonly withoutPolicy: Said };
  /** By table, as they were before the migrations that came later. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
}

const fixture = new URL('../../../test/support/fixtures/former-job.json', import.meta.url);
export const former = JSON.parse(readFileSync(fixture, 'utf8')) as Former;

/** @param row  in the tenant of the tests' client */
export async function insertFormer(
  query: (sql: string, parameters: unknown[]) => Promise<unknown>,
  table: string,
  row: Row,
): Promise<void> {
  const names = Object.keys(row);
  const places = names.map((_, at) => `$${at + 1}`).join();
  const values = names.map((name) => (name === 'tenant' ? 'acme' : columnOf(row[name])));
  const columns = names.map((name) => `"${name}"`).join();
  await query(`INSERT INTO "${table}" (${columns}) VALUES (${places})`, values);
}

function columnOf(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value) || value instanceof Date) return value;
  return 'base64' in value ? Buffer.from(String(value.base64), 'base64') : JSON.stringify(value);
}
