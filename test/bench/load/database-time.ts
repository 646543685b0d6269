/** Processor time of the server's processes that serve one database, where the server runs on this machine (proc(5)). */
import { readFileSync } from 'node:fs';

const ticksPerSecond = 100;

type Query = (sql: string, parameters: string[]) => Promise<unknown>;

/** @returns milliseconds so far by process id; empty where they cannot be read */
export async function databaseTime(query: Query, name: string): Promise<Map<number, number>> {
  const sql = 'SELECT pid FROM pg_stat_activity WHERE datname = $1';
  const rows = (await query(sql, [name])) as { pid: number }[];
  return new Map(rows.flatMap(({ pid }) => timeOf(pid)));
}

/** Milliseconds between two readings, of processes that are in both. */
export function between(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  return [...before].reduce((sum, [pid, at]) => sum + Math.max(0, (after.get(pid) ?? at) - at), 0);
}

function timeOf(pid: number): [number, number][] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [[pid, (1000 * (Number(fields[11]) + Number(fields[12]))) / ticksPerSecond]];
  } catch {
    return [];
  }
}
