/** A factor `1 − b·2^-q` of a running mean (libs/step/SPEC.md §24). */
import { refuse } from '../../errors.js';
import type { JsonReader } from '../reader.js';

/** [b, q] with `1 ≤ b ≤ 2^q`. */
export type Factor = readonly [number, number];

/** @throws Rejection MANIFEST_OPTIMIZER, MANIFEST_LENGTH, MANIFEST_RANGE */
export function parseFactor(read: JsonReader, name: string): Factor {
  const [b, q] = read.integers(name, 2, 0, 2 ** 30) as [number, number];
  if (q <= 30 && b >= 1 && b <= 2 ** q) return [b, q];
  return refuse(
    'MANIFEST_OPTIMIZER',
    `optimizer.${name} as [b, q] with 1 <= b <= 2^q, q to 30`,
    [b, q],
    'libs/step/SPEC.md §24',
  );
}
