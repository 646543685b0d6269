/** The same evidence at two times: what has changed, and why. */
import type { Check, CheckStatus, Tier } from '../check/checks.js';
import type { AttestationResult } from './appraise.js';

export interface AppraisalDifference {
  readonly submodule: string;
  /** The sentence of the rule; codes can differ, as a failure names itself. */
  readonly rule: string;
  readonly before: { readonly code: string; readonly status: CheckStatus; readonly got: string } | null;
  readonly after: { readonly code: string; readonly status: CheckStatus; readonly got: string } | null;
  readonly cause: 'expired' | 'revoked' | 'advisory' | 'stale-collateral' | 'other';
}

export interface AppraisalComparison {
  readonly before: { readonly at: number; readonly tier: Tier };
  readonly after: { readonly at: number; readonly tier: Tier };
  /** Whether one of the two times accepts the evidence and the other one does not. */
  readonly change: 'none' | 'verified-then-not-now' | 'verified-now-not-then';
  readonly differences: readonly AppraisalDifference[];
}

/** @param before  the appraisal as of the evidence's own time; @param after  as of a later one, today for example */
export function compareAppraisals(before: AttestationResult, after: AttestationResult): AppraisalComparison {
  const names = [...new Set([...before.submodules, ...after.submodules].map(({ name }) => name))];
  const differences = names.flatMap((name) => {
    const [old, now] = [before, after].map((result) => checksOf(result, name)) as [
      Map<string, Check>,
      Map<string, Check>,
    ];
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((id) => difference(name, old.get(id), now.get(id)));
  });
  return {
    before: { at: before.at, tier: before.tier },
    after: { at: after.at, tier: after.tier },
    change: changeOf(isAccepted(before.tier), isAccepted(after.tier)),
    differences,
  };
}

function isAccepted(tier: Tier): boolean {
  return tier === 'affirming' || tier === 'warning';
}

function changeOf(then: boolean, now: boolean): AppraisalComparison['change'] {
  if (then === now) return 'none';
  return then ? 'verified-then-not-now' : 'verified-now-not-then';
}

function checksOf(result: AttestationResult, name: string): Map<string, Check> {
  const submodule = result.submodules.find((candidate) => candidate.name === name);
  return new Map(submodule?.checks.map((check) => [check.id, check]));
}

function difference(submodule: string, old: Check | undefined, now: Check | undefined): AppraisalDifference[] {
  if (old?.status === now?.status) return [];
  const brief = (check: Check | undefined) => check && { code: check.code, status: check.status, got: check.got };
  const { rule } = (now ?? old)!;
  return [{ submodule, rule, before: brief(old) ?? null, after: brief(now) ?? null, cause: causeOf(now ?? old!) }];
}

function causeOf({ code, status, got }: Check): AppraisalDifference['cause'] {
  if (/EXPIRED/.test(code)) return 'expired';
  if (/REVOKED|ON_HOLD/.test(code) && status === 'refused') return 'revoked';
  if (/FLOOR|TCB_STATUS|ADVISORY/.test(code)) return 'advisory';
  return /STALE/.test(code) || /stale/.test(got) || status === 'missing' ? 'stale-collateral' : 'other';
}
