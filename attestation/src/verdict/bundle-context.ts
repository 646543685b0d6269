/** A bundle read into its parts, whatever its version: what every check of it works on. */
import { keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { parseBundle, segmentsOfBundle, type AnyBundle, type BundledSegment } from '../records/bundle.js';
import { parseSessionEvidence, type ReportedSession } from '../records/evidence.js';
import { parseFormerSessionEvidence } from '../records/former-evidence.js';
import { decodeFormerTerms } from '../records/former-terms.js';
import { parseJobSpec, type JobSpec } from '../records/job-spec.js';
import { parseRoundStatement, workersOf, type RoundStatement } from '../records/round.js';
import { parseStepStatement, type StepStatement } from '../records/step-statement.js';
import { decodeTerms } from '../records/terms.js';
import type { ProofContext } from './bundle-proofs.js';

export interface BundleContext extends ProofContext {
  readonly bundle: AnyBundle;
  readonly sessions: readonly ReportedSession[];
  /** The escrow's identity on chain. */
  readonly escrowId: Digest;
}

/** @throws Rejection where a part cannot be read at all */
export function readBundle(encoded: Uint8Array): BundleContext {
  const bundle = parseBundle(encoded);
  const isFormer = bundle.version < 4;
  const spec = parseJobSpec(bundle.spec);
  const segments = segmentsOfBundle(bundle);
  const parseEvidence = isFormer ? parseFormerSessionEvidence : parseSessionEvidence;
  return {
    bundle,
    spec,
    terms: isFormer ? decodeFormerTerms(bundle.terms) : decodeTerms(bundle.terms),
    escrowId: keccak(bundle.terms),
    sessions: bundle.sessions.map(({ evidence }) => parseEvidence(evidence)),
    segments,
    statements: statementsOf(bundle, segments, spec),
  };
}

/** Versions 1 to 3 say themselves whether their segments are rounds; later ones are read as the job is. */
function statementsOf(
  { version }: AnyBundle,
  segments: readonly BundledSegment[],
  spec: JobSpec,
): readonly (StepStatement | RoundStatement)[] {
  const areRounds = version === 3 || (version === 4 && workersOf(spec) > 1);
  return segments.map(({ statement }) => (areRounds ? parseRoundStatement : parseStepStatement)(statement));
}

/** @throws Rejection BUNDLE_SESSION_INDEX */
export function sessionAt(sessions: readonly ReportedSession[], index: number): ReportedSession {
  const session = sessions[index];
  if (session === undefined) throw mismatch('BUNDLE_SESSION_INDEX', `a session below ${sessions.length}`, `${index}`);
  return session;
}

/** @throws Rejection with `code` where the two differ */
export function same(code: string, expected: string, got: string): string {
  if (expected !== got) throw mismatch(code, expected, got);
  return got;
}

export function mismatch(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'attestation/SPEC.md, bundle' });
}
