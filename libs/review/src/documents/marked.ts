/** What a document says, each value with what it rests on. */

/**
 * `proved`: step proofs of every segment show it. `attested`: receipts of appraised enclaves show it. `declared`: somebody
 * says so, and this evidence does not show it.
 */
export type Basis = 'proved' | 'attested' | 'declared';

export interface Marked<T = string> {
  readonly value: T;
  readonly basis: Basis;
}

export const marked = <T>(value: T, basis: Basis): Marked<T> => ({ value, basis });
