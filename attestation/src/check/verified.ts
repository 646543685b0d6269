/**
 * What every verifier of one kind of evidence hands to the appraisal engine. *Verify* decides authenticity alone:
 * signatures, chains, identity links, strict encoding. What a policy accepts is decided later, from the claims.
 *
 * Rules for the writers of a `verify*` function:
 * - every rule that was looked at is one `Check`, met or not, so that a reader sees the whole list;
 * - it throws nothing but bugs: a `Rejection` inside becomes a check with status `forged`, a `CollateralError` one with
 *   status `missing` (see `checks.ts`);
 * - `claims` is present exactly when authenticity is `authentic` (never hand unauthenticated values to a policy).
 */
import type { Check } from './checks.js';

export type EvidenceKind = 'snp' | 'simulated-snp' | 'tdx' | 'sgx' | 'nitro' | 'nvidia';

/**
 * - `authentic`: all of it holds at the verification time.
 * - `forged`: at least one check is `forged`.
 * - `undecided`: none is forged, but material without which authenticity cannot be decided is missing.
 */
export type Authenticity = 'authentic' | 'forged' | 'undecided';

export interface Verified<Claims> {
  readonly kind: EvidenceKind;
  readonly authenticity: Authenticity;
  readonly checks: readonly Check[];
  readonly claims?: Claims;
}
