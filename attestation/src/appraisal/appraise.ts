/**
 * The Verifier of RFC 9334: evidence, endorsements, reference values and a policy in, an attestation result out. Pure:
 * the time is an argument, nothing is fetched. An unfavourable verdict is a result; only a bad policy throws.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, toHex, utf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { gpusMax } from '../base/limits.js';
import type { Check, CheckSubject, Tier } from '../check/checks.js';
import { documentDigest } from '../check/document.js';
import type { Authenticity } from '../check/verified.js';
import { rimReader } from '../nvidia/rim.js';
import type { KeyBinding } from '../records/key-binding.js';
import { judgeSession, readableMode } from './composite.js';
import type { Parts } from './composite.js';
import { usableAdvisories } from './condemned.js';
import type { CpuEvidence, Endorsements, Evidence } from './evidence.js';
import type { MachineInstance } from './instance.js';
import { checkPolicy } from './policy.js';
import type { AppraisalPolicy } from './policy.js';
import { withReferenceValues } from './reference-values.js';
import type { ReferenceValues } from './reference-values.js';
import { judgeCpu, judgeGpu } from './submodules.js';
import type { JudgedCpu, JudgedGpu, Submodule } from './submodules.js';

export interface AppraisalRequest {
  readonly evidence: Evidence;
  readonly endorsements: Endorsements;
  readonly policy: AppraisalPolicy;
  readonly referenceValues?: ReferenceValues;
  /** The relying party's nonce, 32 bytes; for a Nitro document or a GPU on its own, the one that it must carry. */
  readonly nonce?: Uint8Array;
  /** What REPORT_DATA must be, 64 bytes, where the caller knows it without a session. */
  readonly expectedReportData?: Uint8Array;
  /** Devices in other live sessions, as `devices` of their results names them. */
  readonly devicesInUse?: ReadonlySet<string>;
  /** The number of this session where several are judged together: checks name it. */
  readonly session?: number;
  /** Unix seconds. */
  readonly at: number;
}

declare const appraised: unique symbol;

/** Made by `appraise` alone. */
export interface AttestationResult {
  readonly [appraised]: true;
  /** The weakest submodule's. */
  readonly tier: Tier;
  readonly authenticity: Authenticity;
  /** Unix seconds of the appraisal. */
  readonly at: number;
  /** Unix seconds until which it may be relied on. */
  readonly notAfter: number;
  readonly policyId: string;
  /** SHA-256 over the deterministic encodings, hexadecimal. */
  readonly policyDigest: string;
  readonly evidenceDigest: string;
  readonly submodules: readonly Submodule[];
  /** Ids of the authentic GPUs, the same under every firmware: what must not serve two live sessions. */
  readonly devices: readonly string[];
  /** Which machine and launch made the CPU's evidence, where that is authentic, whatever the tier. */
  readonly instance?: MachineInstance;
  /** All checks of all submodules, in order. */
  readonly checks: readonly Check[];
  /** Keys that the evidence binds; only where the result is affirming or warning. */
  readonly keys?: KeyBinding;
  readonly nonce?: string;
}

/** @throws ConfigurationError POLICY_SIMULATED_ROOTS, POLICY_NOT_PINNED; Rejection EVIDENCE_GPU_COUNT */
export async function appraise(request: AppraisalRequest): Promise<AttestationResult> {
  const { at, referenceValues } = request;
  checkPolicy(request.policy);
  const policy =
    referenceValues === undefined ? request.policy : withReferenceValues(request.policy, referenceValues, at);
  const parts = split(request.evidence);
  const { cpu, gpus, session } = parts;
  if (gpus.length > gpusMax) {
    throw new Rejection('EVIDENCE_GPU_COUNT', {
      expected: `at most ${gpusMax}`,
      got: `${gpus.length}`,
      rule: 'attestation/SPEC.md §6.5',
    });
  }
  const alone = request.evidence.kind === 'nvidia' || request.evidence.kind === 'nitro';
  const ownNonce = alone && request.nonce !== undefined && { ownNonce: request.nonce };
  const advisories = await usableAdvisories(request.endorsements.advisories ?? [], policy.advisories);
  const circumstances = { endorsements: request.endorsements, policy, advisories, at, ...ownNonce };
  const judgedCpu = cpu && (await judgeCpu(cpu, circumstances));
  const mode = readableMode(session);
  const ofGpus = { ...circumstances, readRims: rimReader(request.endorsements.rims) };
  const judgedGpus: JudgedGpu[] = [];
  for (const [index, gpu] of gpus.entries()) judgedGpus.push(await judgeGpu(`gpu-${index}`, gpu, ofGpus, mode));
  const together = await judgeSession(parts, judgedCpu, judgedGpus, {
    policy,
    at,
    ...(request.nonce && { nonce: request.nonce }),
    ...(request.expectedReportData && { reportData: request.expectedReportData }),
    ...(request.devicesInUse && { devicesInUse: request.devicesInUse }),
  });
  const devices = [...(judgedCpu ? [judgedCpu] : []), ...judgedGpus];
  const ends = devices.flatMap(({ notAfter }) => notAfter ?? []);
  return conclude(request, { judged: [...devices, together], ends }, judgedCpu, session);
}

/** From worst to best: bad news outweighs the unknown, which outweighs a warning. */
export const tierOrder: readonly Tier[] = ['contraindicated', 'none', 'warning', 'affirming'];

export function weakestTier(tiers: readonly Tier[]): Tier {
  return tierOrder.find((tier) => tiers.includes(tier)) ?? 'none';
}

function split(evidence: Evidence): Parts {
  switch (evidence.kind) {
    case 'composite':
      return evidence;
    case 'nvidia':
      return { gpus: [evidence] };
    case 'snp':
    case 'simulated-snp':
    case 'tdx':
    case 'sgx':
    case 'nitro':
      return { cpu: evidence, gpus: [] };
  }
}

function conclude(
  request: AppraisalRequest,
  { judged, ends }: { readonly judged: readonly Submodule[]; readonly ends: readonly number[] },
  cpu: JudgedCpu | undefined,
  session: Parts['session'],
): AttestationResult {
  const { policy, at, evidence } = request;
  const submodules = judged.map((submodule) => publicPart(submodule, request.session ?? 0));
  const tier = weakestTier(submodules.map((submodule) => submodule.tier));
  const authenticities = submodules.map(({ authenticity }) => authenticity);
  const trusted = tier === 'affirming' || tier === 'warning';
  return {
    tier,
    authenticity: authenticities.includes('forged')
      ? 'forged'
      : authenticities.includes('undecided')
        ? 'undecided'
        : 'authentic',
    at,
    notAfter: trusted ? Math.min(at + policy.resultSecondsMax, policy.notAfter ?? Infinity, ...ends) : at,
    policyId: policy.id,
    policyDigest: documentDigest(policy),
    evidenceDigest: evidenceDigest(evidence),
    submodules,
    devices: submodules.flatMap(({ kind, device }) => (kind === 'nvidia' ? (device ?? []) : [])),
    ...(cpu?.instance && { instance: cpu.instance }),
    checks: submodules.flatMap(({ checks }) => checks),
    ...(trusted && session && { keys: session.keys }),
    ...(session && { nonce: toHex(session.nonce) }),
  } as unknown as AttestationResult;
}

function publicPart({ name, kind, authenticity, tier, checks, device, serial }: Submodule, session: number): Submodule {
  const gpu = /^gpu-(\d+)$/.exec(name)?.[1];
  const subject: CheckSubject = gpu === undefined ? { session } : { gpu: Number(gpu), session };
  const named = checks.map((check) => ({ ...check, subject }));
  const ids = { ...(device !== undefined && { device }), ...(serial !== undefined && { serial }) };
  return { name, kind, authenticity, tier, checks: named, ...ids };
}

/** SHA-256 over a tag and the SHA-256 of every signed part in order, hexadecimal. */
function evidenceDigest(evidence: Evidence): string {
  const { cpu, gpus } = split(evidence);
  const parts = [...(cpu ? [cpuBytes(cpu)] : []), ...gpus.map(({ report }) => report)];
  return toHex(sha256(concatBytes(utf8('veritrain/evidence/v1'), ...parts.map((part) => sha256(part)))));
}

function cpuBytes(cpu: CpuEvidence): Uint8Array {
  switch (cpu.kind) {
    case 'snp':
    case 'simulated-snp':
      return cpu.report;
    case 'tdx':
    case 'sgx':
      return cpu.quote;
    case 'nitro':
      return cpu.document;
  }
}
