/** Arrays of bigints for the reference kernels; the arithmetic itself is libs/zk/src/commit/field. */
import type { Ext } from '../../field/extension.js';

/** c0, c1 interleaved, as in linear memory. */
export function flatten(values: readonly Ext[]): bigint[] {
  return values.flatMap(({ c0, c1 }) => [c0, c1]);
}
