/** Sizes of tables, in bits. */

/** Exact base-2 logarithm of the smallest power of two ≥ value. */
export function log2Ceil(value: number): number {
  let bits = 0;
  while (2 ** bits < value) bits++;
  return bits;
}
