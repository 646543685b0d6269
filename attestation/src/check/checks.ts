/**
 * One check of an appraisal. A check starts as *not-checked* and only evidence that passes lifts it, so a forgotten
 * check can never affirm. The four ways not to pass are different facts and are never merged.
 */
import { CollateralError, Rejection } from '../base/errors.js';
import { meaningOf, type CheckId } from './meanings.js';

/**
 * - `met`: the rule holds.
 * - `forged`: the evidence is not authentic: signature, chain, identity link or strict encoding fails.
 * - `refused`: authentic, but the policy does not accept it; or judged at a time outside a certificate's dates.
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

/** What a check is about: a bundle as a whole, a session's CPU and binding, or one of its GPUs; numbers from 0. */
export type CheckSubject = 'bundle' | { readonly session: number } | { readonly gpu: number; readonly session: number };

export interface Check {
  /** The rule's key: stays the same where a failure brings a code of its own. */
  readonly id: CheckId;
  /** Stable code, for example `SNP_POLICY_DEBUG_SET`; names the failure, also while the check is met. */
  readonly code: string;
  readonly claim: TrustClaim;
  readonly status: CheckStatus;
  /** The value seen; hexadecimal for bytes. */
  readonly got: string;
  readonly expected: string;
  /** What is demanded, in one sentence. */
  readonly rule: string;
  /** The same for a reader without the vocabulary, at most 120 characters. */
  readonly means: string;
  /** Document and clause the rule comes from. */
  readonly source: string;
  /** What the reader can do when it is not met; empty when met. */
  readonly action: string;
  /** Given by whoever judges several things at once. */
  readonly subject?: CheckSubject;
}

/** The unchanging half of a check: what is demanded and why, in a table keyed by code. */
export type CheckRule = Omit<Check, 'id' | 'code' | 'status' | 'got' | 'means' | 'subject'>;

/** The list being filled. Codes that nobody settles stay `not-checked`. */
export interface CheckBook<Code extends string> {
  /** Records an outcome; `expected` replaces the general wording by the concrete value. A code is settled once. */
  settle(code: Code, status: CheckStatus, got: string, expected?: string): void;
  /**
   * Runs a step: met with what it returns as the value seen; a Rejection settles it as forged under the rejection's own
   * code (as refused where only dates are passed), a CollateralError as missing. Any other error is a bug and passes through.
   * @returns whether the step went through
   */
  attempt(code: Code, step: () => string | Promise<string>): Promise<boolean>;
  /** Like `attempt`, for a step whose result later steps need; `show` makes the value seen out of it. */
  derive<T>(code: Code, step: () => T | Promise<T>, show: (value: T) => string): Promise<T | undefined>;
  /** Removes a check that does not apply to this evidence. */
  drop(code: Code): void;
  checks(): readonly Check[];
}

/** An endorsement out of its dates is no forgery, but at that time it endorses nothing. */
const outOfDates: ReadonlySet<string> = new Set(['X509_PATH_EXPIRED', 'X509_PATH_NOT_YET']);

export function openChecks<Code extends CheckId>(rules: Readonly<Record<Code, CheckRule>>): CheckBook<Code> {
  const open = new Map<Code, Check>();
  for (const [code, rule] of Object.entries(rules) as [Code, CheckRule][]) {
    open.set(code, { id: code, code, status: 'not-checked', got: 'not checked', means: meaningOf(code), ...rule });
  }
  const put = (code: Code, change: Partial<Check> & { status: CheckStatus }): void => {
    const check = open.get(code);
    if (check === undefined || check.status !== 'not-checked') throw new Error(`check ${code} is unknown or settled`);
    open.set(code, { ...check, ...change, action: change.status === 'met' ? '' : check.action });
  };
  const derive = async <T>(
    code: Code,
    step: () => T | Promise<T>,
    show: (value: T) => string,
  ): Promise<T | undefined> => {
    try {
      const value = await step();
      put(code, { status: 'met', got: show(value) });
      return value;
    } catch (error) {
      if (!(error instanceof Rejection) && !(error instanceof CollateralError)) throw error;
      const { code: failed, detail } = error;
      const dated = outOfDates.has(failed) && { action: 'judge it as of its own time, or obtain current endorsements' };
      const status = error instanceof CollateralError ? 'missing' : dated ? 'refused' : 'forged';
      put(code, { status, code: failed, got: detail.got, expected: detail.expected, ...dated });
      return undefined;
    }
  };
  return {
    settle: (code, status, got, expected) => put(code, { status, got, ...(expected !== undefined && { expected }) }),
    attempt: async (code, step) => (await derive(code, step, (got) => got)) !== undefined,
    derive,
    drop: (code) => void open.delete(code),
    checks: () => [...open.values()],
  };
}

/** Authenticity that follows from checks of authenticity alone; policy checks and optional collateral stay outside. */
export function authenticityOf(checks: readonly Check[]): 'authentic' | 'forged' | 'undecided' {
  if (checks.some((check) => check.status === 'forged')) return 'forged';
  return checks.length > 0 && checks.every((check) => check.status === 'met' || check.status === 'warned')
    ? 'authentic'
    : 'undecided';
}

/** Overall outcome of AR4SI and EAR; `none`: not enough is known. */
export type Tier = 'affirming' | 'warning' | 'contraindicated' | 'none';

/** Bad news first: what is forged or refused outweighs what is unknown, which outweighs a warning. No check, no tier. */
export function tierOf(checks: readonly Check[]): Tier {
  const has = (...statuses: readonly CheckStatus[]): boolean => checks.some(({ status }) => statuses.includes(status));
  if (has('forged', 'refused')) return 'contraindicated';
  if (checks.length === 0 || has('missing', 'not-checked')) return 'none';
  return has('warned') ? 'warning' : 'affirming';
}
