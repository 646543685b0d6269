/** Exponentials of `−i·2^-a` by table (libs/step/SPEC.md §6). */
import { expTable } from '../table.js';
import type { NetEmitter } from './emitter.js';

/**
 * @param x        whole numbers from 0 on
 * @param isOpen   whether some x exceed 65535, whose exponential is then 0
 * @returns T[x]; the table is cut behind its last entry that is not 0
 */
export function emitExp(e: NetEmitter, x: string, E: number, a: number, isOpen = false): string {
  const table = expTable(E, a);
  const zero = table.indexOf(0);
  if (zero < 0 && !isOpen) return e.lookUp(Float64Array.from(table), x);
  const end = zero < 0 ? table.length : zero;
  const cut = Float64Array.from({ length: end + 1 }, (_, i) => (i < end ? table[i]! : 0));
  const last = e.cast(e.scalar(end), 'int32');
  return e.entries(cut, e.node('Min', [e.places(x), last]), x);
}
