/** Exponentials of `−i·2^-a` by table (libs/step/SPEC.md §6). */
import { expTable } from '../table.js';
import type { NetEmitter } from './emitter.js';

/** @param x whole numbers 0 … 65535 @returns T[x]; the table is cut behind its last entry that is not 0 */
export function emitExp(e: NetEmitter, x: string, E: number, a: number): string {
  const table = expTable(E, a);
  const end = table.findIndex((entry) => entry === 0);
  if (end < 0) return e.lookUp(Float64Array.from(table), x);
  const cut = Float64Array.from(table.subarray(0, end + 1));
  return e.lookUp(cut, e.node('Min', [x, e.scalar(end)]));
}
