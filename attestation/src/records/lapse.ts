/** What stands in for an enclave's seal where its attestation lapses before the run is sealed. */
import type { JobSpec } from './job-spec.js';
import { JobMode, type Terms } from './terms.js';

/**
 * Bond that closes challenges, in the token's smallest unit: the greatest that terms can name, more than there is of any native
 * coin. Nobody has proofs of a run that is sealed where proofs might have stood instead, so the host could answer no challenge.
 */
export const closingBond = 2n ** 128n - 1n;

type Shape = Pick<Terms, 'mode' | 'dutySelectors'>;

/**
 * Whether client and escrow agreed that a job for an enclave may be finished by step proofs: its borders are ones that
 * proofs open, and its escrow takes a seal, or a proof of every segment where there is none (contracts/SPEC.md §7,
 * fallback). A delivery that the payment reveals cannot be sealed by a prover, so such a job has none.
 */
export function mayBeProvedInstead({ assurance, proving }: JobSpec, { mode, dutySelectors }: Shape): boolean {
  return assurance === 'tee' && proving !== null && mode === JobMode.tee && dutySelectors.length > 0;
}
