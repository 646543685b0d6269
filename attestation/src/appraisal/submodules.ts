/** One verdict per device: verify, then hold the claims against the policy. */
import { toHex } from '../bytes.js';
import { appraiseQuote } from '../intel/policy.js';
import { intelRootSpkiSha256, verifyQuote } from '../intel/verify.js';
import type { QuoteClaims } from '../intel/verify.js';
import { appraiseNitro } from '../nitro/policy.js';
import { nitroRootSpkiSha256, verifyNitro } from '../nitro/verify.js';
import type { GpuMode } from '../nvidia/mode.js';
import { verifyNvidia } from '../nvidia/verify.js';
import type { NvidiaClaims } from '../nvidia/verify.js';
import { appraiseSnp } from '../snp/appraise.js';
import { verifySnp } from '../snp/verify.js';
import { openChecks, tierOf } from './checks.js';
import type { Check, CheckRule, Tier } from './checks.js';
import type { CpuEvidence, Endorsements, GpuEvidence } from './evidence.js';
import { appraiseGpu } from './gpu.js';
import type { AppraisalPolicy, PlatformLists } from './policy.js';
import type { Authenticity, EvidenceKind, Verified } from './verified.js';

export interface Submodule {
  /** `cpu`, `gpu-0`, `gpu-1`, …, `session`. */
  readonly name: string;
  readonly kind: EvidenceKind | 'session';
  readonly authenticity: Authenticity;
  readonly tier: Tier;
  readonly checks: readonly Check[];
  /** What identifies the device, where it is authentic and says so. */
  readonly device?: string;
}

/** A judged device and what binding it to others needs. */
export interface JudgedCpu extends Submodule {
  /** The caller data that the hardware signed. */
  readonly reportData?: Uint8Array;
  /** Unix seconds after which an endorsement has expired. */
  readonly notAfter?: number;
}
export interface JudgedGpu extends Submodule {
  readonly claims?: NvidiaClaims;
}

export interface Circumstances {
  readonly endorsements: Endorsements;
  readonly policy: AppraisalPolicy;
  /** Unix seconds. */
  readonly at: number;
  /** The nonce that this evidence itself must carry; absent in a session, whose GPUs answer a derived one. */
  readonly ownNonce?: Uint8Array;
}

const intelPins: ReadonlySet<string> = new Set([intelRootSpkiSha256]);
const nitroPins: ReadonlySet<string> = new Set([nitroRootSpkiSha256]);

export async function judgeCpu(evidence: CpuEvidence, circumstances: Circumstances): Promise<JudgedCpu> {
  switch (evidence.kind) {
    case 'snp':
    case 'simulated-snp':
      return judgeSnp(evidence.kind, evidence.report, circumstances);
    case 'tdx':
    case 'sgx':
      return judgeQuote(evidence.quote, circumstances);
    case 'nitro':
      return judgeNitro(evidence.document, circumstances);
  }
}

async function judgeSnp(
  kind: 'snp' | 'simulated-snp',
  report: Uint8Array,
  { endorsements, policy, at }: Circumstances,
): Promise<JudgedCpu> {
  const { certificates, crls } = endorsements;
  const simulated = kind === 'simulated-snp' && { simulatedRoots: policy.simulatedRoots };
  const verified = await verifySnp({ report, certificates, crls, at, ...simulated });
  const { claims } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  return {
    ...conclude('cpu', verified, [...simulationNotice(kind, policy), ...appraiseSnp(claims, policy.snp, at)]),
    ...(claims.chipId !== undefined && { device: claims.chipId }),
    reportData: claims.report.reportData,
    notAfter: claims.notAfter,
  };
}

/** Says in the list of checks itself that nothing here is hardware, and who accepted that. */
function simulationNotice(kind: 'snp' | 'simulated-snp', { id, environment }: AppraisalPolicy): readonly Check[] {
  if (kind === 'snp') return [];
  const book = openChecks({ SIMULATED_HARDWARE: simulatedRule });
  book.settle('SIMULATED_HARDWARE', 'met', `simulated root named by ${environment} policy ${id}`);
  return book.checks();
}

const simulatedRule: CheckRule = {
  claim: 'hardware',
  expected: 'a root that a development policy names',
  rule: 'Simulated hardware is accepted only by name, for development.',
  source: 'attestation SPEC §6.1',
  action: '',
};

async function judgeQuote(quote: Uint8Array, { endorsements, policy, at }: Circumstances): Promise<JudgedCpu> {
  const { crls, collateral } = endorsements;
  const verified = await verifyQuote({ quote, at, pins: intelPins, crls, ...(collateral && { collateral }) });
  const { claims } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  const policyChecks = [...appraiseQuote(claims, policy.quote), ...appraisePlatform(claims, policy.quote)];
  const device = toHex(claims.pck.ppid);
  return { ...conclude('cpu', verified, policyChecks), device, reportData: claims.body.report.reportData };
}

async function judgeNitro(document: Uint8Array, { policy, at, ownNonce }: Circumstances): Promise<JudgedCpu> {
  const verified = await verifyNitro({ document, at, pins: nitroPins, ...(ownNonce && { nonce: ownNonce }) });
  const { claims } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  const judged = conclude('cpu', verified, appraiseNitro(claims, policy.nitro, at));
  return { ...judged, ...(claims.user_data !== null && { reportData: claims.user_data }) };
}

/** @param mode  what the CPU's session claims state of the GPUs, if they do */
export async function judgeGpu(
  name: string,
  { report, certificateChain }: GpuEvidence,
  { endorsements, policy, at, ownNonce }: Circumstances,
  mode: GpuMode | undefined,
): Promise<JudgedGpu> {
  const { rims, ocspAnswers } = endorsements;
  const graceSeconds = policy.gpu.manifestGraceSeconds;
  const verified = await verifyNvidia({
    report,
    certificateChain,
    rims,
    ocspAnswers,
    at,
    graceSeconds,
    ...(ownNonce && { nonce: ownNonce }),
    ...(mode && { mode }),
  });
  const { claims } = verified;
  const judged = conclude(name, { ...verified, checks: appraiseGpu(verified.checks, claims, policy.gpu) }, []);
  return { ...judged, ...(claims && { claims, device: claims.deviceId }) };
}

function conclude(name: string, verified: Verified<unknown>, policyChecks: readonly Check[]): Submodule {
  const checks = [...verified.checks, ...policyChecks];
  return { name, kind: verified.kind, authenticity: verified.authenticity, tier: tierOf(checks), checks };
}

const platformRule = (text: string, action: string): CheckRule => ({
  claim: 'hardware',
  expected: '',
  rule: text,
  source: 'policy; attestation SPEC §6.3',
  action,
});
const platformRules = {
  QUOTE_PLATFORM_DENIED: platformRule('The platform is not denied.', 'use another machine'),
  QUOTE_PLATFORM_NOT_ALLOWED: platformRule('The platform is one of those allowed.', 'use a listed machine'),
};

function appraisePlatform({ pck }: QuoteClaims, { ppidsAllowed, ppidsDenied }: PlatformLists): readonly Check[] {
  const book = openChecks(platformRules);
  const ppid = toHex(pck.ppid);
  if (ppidsDenied.length === 0) book.drop('QUOTE_PLATFORM_DENIED');
  else
    book.settle(
      'QUOTE_PLATFORM_DENIED',
      ppidsDenied.includes(ppid) ? 'refused' : 'met',
      ppid,
      `none of ${ppidsDenied.length} denied`,
    );
  if (ppidsAllowed === undefined) book.drop('QUOTE_PLATFORM_NOT_ALLOWED');
  else
    book.settle(
      'QUOTE_PLATFORM_NOT_ALLOWED',
      ppidsAllowed.includes(ppid) ? 'met' : 'refused',
      ppid,
      `one of ${ppidsAllowed.length} listed`,
    );
  return book.checks();
}
