/** What Linux says of processes. @source proc(5), /proc/PID/stat: field 3 is the state, 4 the parent, 14 and 15 ticks of CPU */
import { readdirSync, readFileSync } from 'node:fs';

const tickMs = 10;

/** A process and everything that it started. */
export function withDescendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = fieldsOf(Number(name))?.[1];
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
  }
  const found = [pid];
  for (let at = 0; at < found.length; at++) found.push(...(children.get(found[at]!) ?? []));
  return found;
}

export function isAlive(pid: number): boolean {
  const state = stateOf(pid);
  return state !== null && state !== 'Z';
}

/** One letter, T for stopped; null when there is no such process. */
export function stateOf(pid: number): string | null {
  return fieldsOf(pid)?.[0] ?? null;
}

/** CPU time that processes have used; none for those that are gone. */
export function cpuMs(pids: readonly number[]): number {
  return pids
    .map(fieldsOf)
    .reduce((sum, fields) => sum + tickMs * (Number(fields?.[11]) + Number(fields?.[12]) || 0), 0);
}

/** From the third on: the second is a name that may hold anything. */
function fieldsOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
