/** Which of two rules a job's guards follow (libs/step/SPEC.md §7). */

/** `proved`: jobs in a scheme that step proofs open. `attested`: all others; an engine alone answers for them. */
export type GuardSet = 'attested' | 'proved';

/** @param scheme commitment scheme of a job's spec */
export function guardSetOf(scheme: string): GuardSet {
  return scheme === 'state-keccak' ? 'attested' : 'proved';
}
