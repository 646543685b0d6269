/** Appraises files of evidence, as of one time or of two. */
import {
  appraise,
  compareAppraisals,
  documentDigest,
  earOf,
  weakestTier,
  type AppraisalComparison,
  type AppraisalPolicy,
  type AttestationResult,
  type Check,
  type FileKind,
  type Tier,
} from '#attestation';
import { ConfigurationError } from '#attestation/base';
import { unmetCodes } from '../checks.js';
import type { Piece } from './material.js';

interface AppraisalInput {
  readonly kind: FileKind;
  readonly pieces: readonly Piece[];
  readonly policy: AppraisalPolicy;
  /** Up to 64 bytes: the nonce of a GPU, Nitro document or session, else REPORT_DATA filled up with zeros. */
  readonly nonce?: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
  /** Unix seconds of a second appraisal of the same evidence, to see what has changed. */
  readonly andAt?: number;
}

export interface EvidenceVerdict {
  /** Affirming or warning. */
  readonly ok: boolean;
  readonly kind: FileKind;
  readonly at: number;
  readonly policy: { readonly id: string; readonly digest: string };
  readonly authentic: boolean;
  /** Tells forged evidence from evidence that could not be checked. */
  readonly authenticity: 'authentic' | 'forged' | 'undecided';
  readonly appraisal: Tier;
  readonly codes: readonly string[];
  readonly checks: readonly Check[];
  /** EAR of each piece of evidence. */
  readonly results: readonly unknown[];
  readonly comparisons?: readonly AppraisalComparison[];
}

/** @throws ConfigurationError EVIDENCE_NONCE, POLICY_* */
export async function appraiseFiles(input: AppraisalInput): Promise<EvidenceVerdict> {
  const { policy, at, andAt, kind } = input;
  const results = await appraiseAll(input, at);
  const later = andAt === undefined ? undefined : await appraiseAll(input, andAt);
  const checks = results.flatMap((result) => result.checks);
  const appraisal = weakestTier(results.map(({ tier }) => tier));
  return {
    ok: appraisal === 'affirming' || appraisal === 'warning',
    kind,
    at,
    policy: { id: policy.id, digest: documentDigest(policy) },
    authentic: results.every(({ authenticity }) => authenticity === 'authentic'),
    authenticity:
      (['forged', 'undecided'] as const).find((one) => results.some((result) => result.authenticity === one)) ??
      'authentic',
    appraisal,
    codes: unmetCodes(checks),
    checks,
    results: results.map(earOf),
    ...(later && { comparisons: results.map((result, index) => compareAppraisals(result, later[index]!)) }),
  };
}

async function appraiseAll({ pieces, policy, nonce, kind }: AppraisalInput, at: number): Promise<AttestationResult[]> {
  if (nonce?.length === 0) throw wrongNonce('at least one byte', nonce);
  const fresh = nonce === undefined ? {} : freshness(kind, nonce);
  const results: AttestationResult[] = [];
  for (const piece of pieces) results.push(await appraise({ ...piece, policy, at, ...fresh }));
  return results;
}

function freshness(kind: FileKind, nonce: Uint8Array): { nonce: Uint8Array } | { expectedReportData: Uint8Array } {
  switch (kind) {
    case 'nvidia':
    case 'nvidia-json':
    case 'session':
      if (nonce.length !== 32) throw wrongNonce('32 bytes', nonce);
      return { nonce };
    case 'nitro':
      return { nonce };
    case 'snp':
    case 'hcl':
    case 'tdx':
    case 'sgx': {
      if (nonce.length > 64) throw wrongNonce('at most 64 bytes', nonce);
      const expectedReportData = new Uint8Array(64);
      expectedReportData.set(nonce);
      return { expectedReportData };
    }
  }
}

function wrongNonce(expected: string, nonce: Uint8Array): ConfigurationError {
  return new ConfigurationError('EVIDENCE_NONCE', {
    expected,
    got: `${nonce.length}`,
    rule: 'arguments of this command',
  });
}
