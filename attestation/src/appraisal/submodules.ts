/** One verdict per device: verify, then hold the claims against the policy. */
import { toHex } from '../base/bytes.js';
import { openChecks, tierOf } from '../check/checks.js';
import type { Check, CheckRule, Tier } from '../check/checks.js';
import type { Authenticity, EvidenceKind, Verified } from '../check/verified.js';
import { appraiseQuote } from '../intel/policy.js';
import { intelRootSpkiSha256, verifyQuote } from '../intel/verify.js';
import type { QuoteClaims } from '../intel/verify.js';
import { appraiseNitro } from '../nitro/policy.js';
import { nitroRootSpkiSha256, verifyNitro } from '../nitro/verify.js';
import type { GpuMode } from '../nvidia/mode.js';
import type { RimReader } from '../nvidia/rim.js';
import { verifyNvidia } from '../nvidia/verify.js';
import type { NvidiaClaims } from '../nvidia/verify.js';
import { appraiseSnp } from '../snp/appraise.js';
import { sameChip } from '../snp/product.js';
import { verifySnp } from '../snp/verify.js';
import type { SnpClaims } from '../snp/verify.js';
import { appraiseAcpi } from './acpi.js';
import { appraiseAdvisories } from './condemned.js';
import type { AdvisoryFacts, UsableAdvisories } from './condemned.js';
import type { CpuEvidence, Endorsements, GpuEvidence } from './evidence.js';
import { appraiseGpu } from './gpu.js';
import { nitroInstance, quoteInstance, snpInstance } from './instance.js';
import type { MachineInstance } from './instance.js';
import type { AppraisalPolicy, PlatformLists } from './policy.js';

export interface Submodule {
  /** `cpu`, `gpu-0`, `gpu-1`, …, `session`. */
  readonly name: string;
  readonly kind: EvidenceKind | 'session';
  readonly authenticity: Authenticity;
  readonly tier: Tier;
  readonly checks: readonly Check[];
  /** What identifies the device, where it is authentic and says so. */
  readonly device?: string;
  /** A GPU's serial number as NVIDIA's tools print it (ueid): it changes with the firmware, `device` does not. */
  readonly serial?: string;
}

/** A judged device and what binding it to others needs. */
export interface JudgedCpu extends Submodule {
  /** The caller data that the hardware signed. */
  readonly reportData?: Uint8Array;
  readonly instance?: MachineInstance;
  /** Unix seconds after which an endorsement that it needs has expired. */
  readonly notAfter?: number;
}
export interface JudgedGpu extends Submodule {
  readonly claims?: NvidiaClaims;
  readonly notAfter?: number;
}

interface Circumstances {
  readonly endorsements: Endorsements;
  readonly policy: AppraisalPolicy;
  readonly advisories: UsableAdvisories;
  /** Unix seconds. */
  readonly at: number;
  /** The nonce that this evidence itself must carry; absent in a session, whose GPUs answer a derived one. */
  readonly ownNonce?: Uint8Array;
}

interface GpuCircumstances extends Circumstances {
  /** Of the endorsements' manifests; all GPUs share it. */
  readonly readRims: RimReader;
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
  circumstances: Circumstances,
): Promise<JudgedCpu> {
  const { endorsements, policy, at } = circumstances;
  const { certificates, crls } = endorsements;
  const simulated = kind === 'simulated-snp' && { simulatedRoots: policy.simulatedRoots };
  const verified = await verifySnp({ report, certificates, crls, at, ...simulated });
  const { claims } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  const policyChecks = [
    ...simulationNotice(kind, policy),
    ...appraiseSnp(claims, policy.snp, at),
    ...appraiseAcpi(claims, policy.snp),
    ...condemnation(snpFacts(claims, policy), circumstances),
  ];
  // Elsewhere a list that went stale is a warning, or nothing.
  const listEnd = policy.snp.revocation === 'required' ? claims.revocation.notAfter : undefined;
  return {
    ...conclude('cpu', verified, policyChecks),
    instance: snpInstance(claims, kind),
    ...(claims.chipId !== undefined && { device: claims.chipId }),
    reportData: claims.report.reportData,
    notAfter: Math.min(claims.notAfter, listEnd ?? Infinity),
  };
}

/** Says in the list of checks itself that nothing here is hardware, and who accepted that. */
function simulationNotice(kind: 'snp' | 'simulated-snp', { id, environment }: AppraisalPolicy): readonly Check[] {
  if (kind === 'snp') return [];
  const book = openChecks({ SIMULATED_HARDWARE: simulatedRule });
  book.settle('SIMULATED_HARDWARE', 'warned', `simulated root named by ${environment} policy ${id}`);
  return book.checks();
}

const simulatedRule: CheckRule = {
  claim: 'hardware',
  expected: 'a root that a development policy names',
  rule: 'Simulated hardware is accepted only by name, for development.',
  source: 'attestation/SPEC.md §6.1',
  action: 'rely on it for development alone',
};

async function judgeQuote(quote: Uint8Array, circumstances: Circumstances): Promise<JudgedCpu> {
  const { endorsements, policy, at } = circumstances;
  const { crls, collateral } = endorsements;
  const verified = await verifyQuote({ quote, at, pins: intelPins, crls, ...(collateral && { collateral }) });
  const { claims } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  const device = toHex(claims.pck.ppid);
  const facts: AdvisoryFacts = {
    product: `FMSPC:${toHex(claims.pck.fmspc)}`,
    chip: device,
    issuers: claims.issuers,
    isListed: policy.quote.ppidsAllowed?.includes(device) === true,
  };
  const policyChecks = [
    ...appraiseQuote(claims, policy.quote),
    ...appraisePlatform(claims, policy.quote),
    ...condemnation(facts, circumstances),
  ];
  return {
    ...conclude('cpu', verified, policyChecks),
    device,
    instance: quoteInstance(claims),
    reportData: claims.body.report.reportData,
    notAfter: claims.notAfter,
  };
}

async function judgeNitro(document: Uint8Array, circumstances: Circumstances): Promise<JudgedCpu> {
  const { policy, at, ownNonce } = circumstances;
  const verified = await verifyNitro({ document, at, pins: nitroPins, ...(ownNonce && { nonce: ownNonce }) });
  const { claims, notAfter = at } = verified;
  if (claims === undefined) return conclude('cpu', verified, []);
  const facts: AdvisoryFacts = { product: 'nitro', issuers: [nitroRootSpkiSha256], isListed: false };
  const policyChecks = [...appraiseNitro(claims, policy.nitro, at), ...condemnation(facts, circumstances)];
  const judged = { ...conclude('cpu', verified, policyChecks), instance: nitroInstance(claims), notAfter };
  return { ...judged, ...(claims.user_data !== null && { reportData: claims.user_data }) };
}

/** @param mode  what the CPU's session claims state of the GPUs, if they do */
export async function judgeGpu(
  name: string,
  { report, certificateChain }: GpuEvidence,
  circumstances: GpuCircumstances,
  mode: GpuMode | undefined,
): Promise<JudgedGpu> {
  const { endorsements, policy, at, ownNonce, readRims } = circumstances;
  const { rims, ocspAnswers } = endorsements;
  const graceSeconds = policy.gpu.manifestGraceSeconds;
  const verified = await verifyNvidia({
    report,
    certificateChain,
    rims,
    readRims,
    ocspAnswers,
    at,
    graceSeconds,
    ...(ownNonce && { nonce: ownNonce }),
    ...(mode && { mode }),
  });
  const { claims } = verified;
  const checks = appraiseGpu(verified.checks, claims, policy.gpu);
  const condemned = claims === undefined ? [] : condemnation(gpuFacts(claims, policy), circumstances);
  const judged = conclude(name, { ...verified, checks }, condemned);
  if (claims === undefined) return judged;
  return { ...judged, claims, device: claims.deviceId, serial: claims.ueid, notAfter: claims.notAfter };
}

function condemnation(facts: AdvisoryFacts, { advisories, policy, at }: Circumstances): readonly Check[] {
  return appraiseAdvisories(facts, advisories, policy.advisories, at);
}

function snpFacts({ product, tcb, report, chipId, issuers }: SnpClaims, { snp }: AppraisalPolicy): AdvisoryFacts {
  const isListed = chipId !== undefined && snp.chipsAllowed?.some((one) => sameChip(one, chipId)) === true;
  const mitigations = (report.launchMitigations ?? 0n) & (report.currentMitigations ?? 0n);
  const chip = chipId !== undefined && { chip: chipId };
  return { product, reportedTcb: tcb.reported, mitigations, ...chip, issuers, isListed };
}

function gpuFacts(claims: NvidiaClaims, { gpu }: AppraisalPolicy): AdvisoryFacts {
  return {
    product: claims.chip,
    versions: [claims.driverVersion, claims.vbiosVersion],
    chip: claims.deviceId,
    issuers: claims.issuers,
    isListed: gpu.devicesAllowed?.includes(claims.deviceId) === true,
  };
}

function conclude(name: string, verified: Verified<unknown>, policyChecks: readonly Check[]): Submodule {
  const checks = [...verified.checks, ...policyChecks];
  return { name, kind: verified.kind, authenticity: verified.authenticity, tier: tierOf(checks), checks };
}

const platformRule = (text: string, action: string): CheckRule => ({
  claim: 'hardware',
  expected: '',
  rule: text,
  source: 'policy; attestation/SPEC.md §6.3',
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
