/** What is appraised: claims of an Attester that nobody believes yet, and the material to judge them with. */
import type { QuoteCollateral } from '../intel/collateral.js';
import type { OcspAnswer } from '../nvidia/ocsp.js';
import type { ReportedSession } from '../records/evidence.js';
import type { KeyBinding } from '../records/key-binding.js';
import type { SuppliedAdvisories } from './condemned.js';

export type CpuEvidence =
  | { readonly kind: 'snp' | 'simulated-snp'; readonly report: Uint8Array }
  | { readonly kind: 'tdx' | 'sgx'; readonly quote: Uint8Array }
  | { readonly kind: 'nitro'; readonly document: Uint8Array };

export interface GpuEvidence {
  readonly kind: 'nvidia';
  readonly report: Uint8Array;
  /** Leaf first: PEM text, or DER. */
  readonly certificateChain: string | readonly Uint8Array[];
}

/** One machine: a CPU, its GPUs, and what ties them together; without `session` nothing ties them. */
export interface CompositeEvidence {
  readonly kind: 'composite';
  readonly cpu: CpuEvidence;
  readonly gpus: readonly GpuEvidence[];
  readonly session?: SessionBinding;
}

export interface SessionBinding {
  /** The relying party's nonce, 32 bytes. */
  readonly nonce: Uint8Array;
  readonly keys: KeyBinding;
  /** Canonical CBOR of what measured guest code states: `{ gpu: GpuMode }`; empty when it states nothing. */
  readonly claims: Uint8Array;
}

export type Evidence = CpuEvidence | GpuEvidence | CompositeEvidence;

/** Untrusted until each piece has been checked. Missing pieces make checks `missing`, never met. */
export interface Endorsements {
  /** DER: leaves and issuers in any order. */
  readonly certificates: readonly Uint8Array[];
  /** DER. */
  readonly crls: readonly Uint8Array[];
  readonly collateral?: QuoteCollateral;
  /** NVIDIA reference manifests, XML. */
  readonly rims: readonly Uint8Array[];
  readonly ocspAnswers: readonly OcspAnswer[];
  /** Documents that can condemn a product, a firmware, a chip or an issuer. */
  readonly advisories?: readonly SuppliedAdvisories[];
}

export const noEndorsements: Endorsements = { certificates: [], crls: [], rims: [], ocspAnswers: [] };

/** A session's evidence as it travels, in the form that is appraised. */
export function evidenceOfSession(session: ReportedSession): CompositeEvidence {
  const { cpu, gpus, nonce, binding, claims } = session;
  return {
    kind: 'composite',
    cpu: cpu.kind === 'tdx' ? { kind: 'tdx', quote: cpu.report } : { kind: cpu.kind, report: cpu.report },
    gpus: gpus.map(({ report, certificates }) => ({ kind: 'nvidia', report, certificateChain: certificates })),
    session: { nonce, keys: binding, claims },
  };
}

/** The certificates that came with a session's CPU report, and whatever else is at hand. */
export function endorsementsOfSession(session: ReportedSession, more: Endorsements = noEndorsements): Endorsements {
  return { ...more, certificates: [...session.cpu.certificates, ...more.certificates] };
}
