/** What a verified bundle says in plain facts, for whoever shows it: who, when, for how much. */
import { to0x } from '#attestation/base';
import { parseJobSpec, progressOf, workersOf, type JobSpec, type ProgressGrain } from '#attestation/records';
import { provenSteps } from '#libs/proof';
import { termsOf, type BundleVerdict } from './judge.js';
import { manifestOf } from './work.js';

/** How long a session might work, as its key service signed. Unix seconds. */
interface ShownLease {
  readonly session: number;
  readonly from: number;
  readonly until: number;
  readonly isRenewal: boolean;
}

export interface BundleFacts {
  readonly assurance: JobSpec['assurance'];
  /** Trained side by side by so many workers; 1: not data-parallel. */
  readonly workers: number;
  /** Of a job whose proofs cover several superblocks each: at most as many, of so many steps. */
  readonly proofOf: { readonly superblocks: number; readonly steps: number } | null;
  /** How coarse the figures are that leave the enclave while it trains; `none`: none do. */
  readonly progress: ProgressGrain;
  readonly leases: readonly ShownLease[];
  /** Addresses with 0x; the price in the token's smallest unit. */
  readonly client: string;
  readonly provider: string;
  readonly price: string;
  /** Null: the chain's own coin. */
  readonly token: string | null;
  readonly chainId: number;
  readonly contract: string;
  readonly transactions: readonly { readonly call: string; readonly hash: string }[];
}

export function factsOf({ bundle }: BundleVerdict): BundleFacts {
  const spec = parseJobSpec(bundle.spec);
  const terms = termsOf(bundle.terms);
  const leases = bundle.sessions.map((session, index): ShownLease => {
    const { until, isRenewal } = endOf(session);
    return { session: index, from: session.appraisedAt, until: until ?? session.appraisedAt, isRenewal };
  });
  return {
    assurance: spec.assurance,
    workers: workersOf(spec),
    proofOf: proofOf(spec),
    progress: progressOf(spec),
    leases,
    client: to0x(terms.client),
    provider: to0x(terms.provider),
    price: `${terms.price}`,
    token: terms.token.every((byte) => byte === 0) ? null : to0x(terms.token),
    chainId: spec.settlement.chainId,
    contract: to0x(spec.settlement.contract),
    transactions: bundle.settlement.transactions.map(({ call, hash }) => ({ call, hash: to0x(hash) })),
  };
}

function proofOf(spec: JobSpec): BundleFacts['proofOf'] {
  const { proving } = spec;
  const manifest = proving && manifestOf(spec);
  if (!manifest) return null;
  const { superblock: steps } = manifest;
  const superblocks = provenSteps(manifest, proving.profile) / steps;
  return superblocks > 1 ? { superblocks, steps } : null;
}

/** Of version 4 by its grant, of former ones by the appraisal that stood for it. */
function endOf(session: object): { readonly until?: number; readonly isRenewal: boolean } {
  const { grant, appraisal } = session as {
    grant?: { readonly grant: Uint8Array | null; readonly notAfter: number };
    appraisal?: { readonly notAfter: number };
  };
  if (grant !== undefined) return { until: grant.notAfter, isRenewal: grant.grant === null };
  return { ...(appraisal && { until: appraisal.notAfter }), isRenewal: false };
}
