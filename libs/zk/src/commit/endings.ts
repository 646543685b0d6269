/** What stands behind the symbols of every leaf of a tree with aux (libs/zk/SPEC.md §2.1): 32 bytes each. */
import type { CommittingBackend } from './backend.js';
import { prfPrefix } from './randomness.js';

/** As a prover made them, from the seed of the commitment, or zeros. */
export type LeafEndings = { readonly given: Uint8Array } | { readonly seed: Uint8Array } | 'zeros';

/** Those of `count` leaves; none where the tree has none. */
export function endingsOf(
  backend: CommittingBackend,
  endings: LeafEndings | undefined,
  begin: number,
  count: number,
): Uint8Array | undefined {
  if (endings === undefined) return undefined;
  if (endings === 'zeros') return new Uint8Array(32 * count);
  if ('given' in endings) return endings.given.subarray(32 * begin, 32 * (begin + count));
  return backend.counterHashes(prfPrefix(endings.seed, 'aux', 0), begin, count);
}
