/** Checks that a job has nothing for: they are met, and nobody looked at anything. */
import { JobMode, parseJobSpec, workersOf } from '#attestation/records';
import { termsOf, type BundleVerdict } from './judge.js';

type Check = BundleVerdict['checks'][number];

type Judged = Pick<BundleVerdict, 'bundle' | 'segments'>;

const hasNoSession = ({ bundle }: Judged): boolean => bundle.sessions.length === 0;

const idle: Partial<Record<Check['id'], (verdict: Judged) => boolean>> = {
  BUNDLE_SESSIONS: hasNoSession,
  BUNDLE_GRANTS: hasNoSession,
  BUNDLE_RESULTS: hasNoSession,
  BUNDLE_APPRAISALS: ({ bundle }) => bundle.sessions.length === 0 || needed(bundle.terms) === 0,
  BUNDLE_ENDORSEMENTS: ({ bundle: { endorsements } }) =>
    Object.values(endorsements).every(({ length }) => length === 0),
  BUNDLE_RECEIPTS: ({ segments }) => !segments.some(({ isSigned }) => isSigned),
  BUNDLE_ROUNDS: ({ bundle }) => workersOf(parseJobSpec(bundle.spec)) === 1,
  BUNDLE_PROOFS: ({ segments }) => !segments.some(({ isProved }) => isProved),
  BUNDLE_SEAL: ({ bundle }) => bundle.seal === null,
  BUNDLE_DELIVERY: ({ bundle }) => (termsOf(bundle.terms).mode & JobMode.reveal) === 0,
};

/** Whether a check is met because this job has nothing that it is about. */
export function isIdle(verdict: Judged, { id, status }: Pick<Check, 'id' | 'status'>): boolean {
  return status === 'met' && idle[id]?.(verdict) === true;
}

/** Attestors that must vouch for a session; in versions 1 to 3 the key broker alone does. */
function needed(encoded: Uint8Array): number {
  const terms = termsOf(encoded);
  return 'needed' in terms ? terms.needed : 1;
}
