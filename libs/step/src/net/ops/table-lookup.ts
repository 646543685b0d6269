/** Tables of 65,536 entries in a graph (libs/step/SPEC.md §26). */
import { indexMax } from './curves.js';

const turned = new WeakMap<Float64Array, Map<number, Float64Array>>();

/**
 * A table over x = −32768 … 32767 so that x itself is a place of it, those below 0 counted from its end; one object for a
 * table and scale, so that a graph holds it once.
 *
 * @param s its entries come times 2^-s
 */
export function byValue(table: Float64Array, s = 0): Float64Array {
  const scaled = turned.get(table) ?? new Map<number, Float64Array>();
  turned.set(table, scaled);
  const found = scaled.get(s) ?? table.map((_, i) => table[(i + indexMax) % table.length]! * 2 ** -s);
  scaled.set(s, found);
  return found;
}
