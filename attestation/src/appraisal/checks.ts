/**
 * One check of an appraisal. A check starts as *not-checked* and only evidence that passes lifts it, so a forgotten
 * check can never affirm. The four ways not to pass are different facts and are never merged.
 */

/**
 * - `met`: the rule holds.
 * - `forged`: the evidence is not authentic: signature, chain, identity link or strict encoding fails.
 * - `refused`: authentic, but the policy does not accept it.
 * - `warned`: authentic and tolerated by the policy, but a reader must see it.
 * - `missing`: collateral needed to decide was not supplied or has expired; nothing is known.
 * - `not-checked`: the check did not run.
 */
export type CheckStatus = 'met' | 'forged' | 'refused' | 'warned' | 'missing' | 'not-checked';

/** Trustworthiness claims of AR4SI (draft-ietf-rats-ar4si §2.3). */
export type TrustClaim =
  | 'instance-identity'
  | 'configuration'
  | 'executables'
  | 'file-system'
  | 'hardware'
  | 'runtime-opaque'
  | 'storage-opaque'
  | 'sourced-data';

export interface Check {
  /** Stable code, for example `SNP_POLICY_DEBUG_SET`; names the failure, also while the check is met. */
  readonly code: string;
  readonly claim: TrustClaim;
  readonly status: CheckStatus;
  /** The value seen; hexadecimal for bytes. */
  readonly got: string;
  readonly expected: string;
  /** What is demanded, in one sentence. */
  readonly rule: string;
  /** Document and clause the rule comes from. */
  readonly source: string;
  /** What the reader can do when it is not met; empty when met. */
  readonly action: string;
}
