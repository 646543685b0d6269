/** What a bundle's verdict says about a training, with what each value rests on: the one source of every document. */
import { sha256 } from '@noble/hashes/sha2.js';
import { Rejection, toHex } from '#attestation/base';
import { parseJobSpec } from '#attestation/records';
import { headingOf, headings } from '../heading.js';
import type { BundleVerdict } from '../judge.js';
import { workOf, type Work } from '../work.js';
import { marked, type Basis, type Marked } from './marked.js';

/** What the CPU of a session signed, where it is authentic. */
interface Machine {
  readonly session: number;
  readonly kind: string;
  readonly chip: string | null;
  /** MEASUREMENT, MRTD, MRENCLAVE or PCR0. */
  readonly measurement: string;
  readonly gpus: number;
  /** Unix seconds of the appraisal. */
  readonly appraisedAt: number;
}

export interface Training {
  readonly bundle: { readonly sha256: string; readonly bytes: number };
  readonly verdict: Pick<BundleVerdict, 'tier' | 'simulated' | 'notChecked'> & {
    readonly heading: string;
    /** Of the policy it was judged by; null: no session was judged. */
    readonly policySha256: string | null;
    readonly codes: readonly { readonly code: string; readonly status: string }[];
  };
  readonly jobId: string;
  readonly assurance: string;
  /** Commitment to the delivered weights. */
  readonly weights: Marked;
  readonly dataset: {
    readonly id: string;
    readonly root: Marked;
    readonly rows: Marked<number>;
  };
  /** Canonical JSON: layers, loss, optimizer, schedule, seed. */
  readonly manifest: Marked;
  readonly work: Marked<Work> | null;
  readonly segments: number;
  readonly evaluations: Marked<NonNullable<BundleVerdict['evaluations']>> | null;
  readonly machines: readonly Marked<Machine>[];
  /** Unix seconds of the first and the last appraisal; null: no session. */
  readonly from: number | null;
  readonly until: number | null;
}

/**
 * @throws Rejection REPORT_VERDICT where the bundle does not show what it claims: such a document would lend it credit
 */
export function trainingOf(bytes: Uint8Array, verdict: BundleVerdict): Training {
  const { bundle, checks, evaluations, jobId, notChecked, result, segments, sessions, simulated, tier } = verdict;
  if (tier === 'contraindicated') {
    throw new Rejection('REPORT_VERDICT', {
      expected: 'a bundle that shows what it claims',
      got: headings[headingOf(verdict)],
      rule: 'libs/review/DOCUMENTS.md',
      action: 'keep the verdict itself instead: --format verdict',
    });
  }
  const basis = basisOf(verdict);
  const byEnclave: Basis = holds(verdict) && !simulated ? 'attested' : 'declared';
  const spec = parseJobSpec(bundle.spec);
  const work = workOf(verdict);
  const times = sessions.map(({ at }) => at);
  return {
    bundle: { sha256: toHex(sha256(bytes)), bytes: bytes.length },
    verdict: {
      ...{ tier, simulated, notChecked, heading: headings[headingOf(verdict)] },
      policySha256: sessions[0]?.policyDigest ?? null,
      codes: checks.map(({ code, status }) => ({ code, status })),
    },
    ...{ jobId, assurance: spec.assurance, segments: segments.length },
    weights: marked(result, basis),
    dataset: {
      id: toHex(spec.dataset.id),
      root: marked(verdict.datasetRoot, basis),
      rows: marked(spec.dataset.records, basis),
    },
    manifest: marked(new TextDecoder().decode(spec.manifest), basis),
    work: work && marked(work, basis),
    evaluations: evaluations && marked(evaluations, byEnclave),
    machines: sessions.flatMap(({ instance, devices, at }, session) => {
      if (instance === undefined) return [];
      const { kind, chip = null, measurement } = instance;
      return [marked({ session, kind, chip, measurement, gpus: devices.length, appraisedAt: at }, byEnclave)];
    }),
    from: times.length === 0 ? null : Math.min(...times),
    until: times.length === 0 ? null : Math.max(...times),
  };
}

const holds = ({ tier }: BundleVerdict): boolean => tier === 'affirming' || tier === 'warning';

/** Of what every segment must show: simulated hardware attests nothing, a proof needs no machine. */
function basisOf(verdict: BundleVerdict): Basis {
  const { segments, simulated } = verdict;
  if (!holds(verdict) || segments.length === 0) return 'declared';
  if (segments.every(({ isProved }) => isProved)) return 'proved';
  return !simulated && segments.every(({ isSigned, isProved }) => isSigned || isProved) ? 'attested' : 'declared';
}
