/** A bundle read into its parts, in one shape for every version: what every check of it works on. */
import type { AttestationResult } from '../appraisal/appraise.js';
import type { Endorsements } from '../appraisal/evidence.js';
import type { AppraisalPolicy } from '../appraisal/policy.js';
import { keccak, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import type { CheckBook } from '../check/checks.js';
import type { BundledSession, EvidenceBundle } from '../records/bundle.js';
import { evaluationPlanOf, type EvaluationPlan } from '../records/evaluation-plan.js';
import type { ReportedSession } from '../records/evidence.js';
import { parseJobSpec, type JobSpec } from '../records/job-spec.js';
import { parseRoundStatement } from '../records/round.js';
import { parseStepStatement } from '../records/step-statement.js';
import type { BundledJob, ProofContext } from './bundle-proofs.js';
import type { BundleCode } from './bundle-rules.js';
import type { ExtraMaterial } from './material.js';
import type { Tick } from './progress.js';
import type { LogAsked, ShownLog } from './shown-log.js';

/** What bundles of every version have. */
type EveryVersion = 'spec' | 'terms' | 'policy' | 'endorsements' | 'segments' | 'seal' | 'delivery' | 'settlement';

/** What bundles of every version say, in the shape of version 4. */
export interface JudgedBundle extends Pick<EvidenceBundle, EveryVersion> {
  readonly sessions: readonly Pick<BundledSession, 'evidence' | 'result' | 'appraisedAt'>[];
  readonly run: Omit<EvidenceBundle['run'], 'keys'>;
  readonly evaluations?: EvidenceBundle['evaluations'];
  readonly log?: EvidenceBundle['log'];
}

export interface BundleParts extends ProofContext {
  readonly bundle: JudgedBundle;
  readonly sessions: readonly ReportedSession[];
  /** The escrow's identity on chain. */
  readonly escrowId: Digest;
  /** Whether the segments are rounds. */
  readonly areRounds: boolean;
  /** Null where the manifest declares no evaluations. */
  readonly plan: EvaluationPlan | null;
}

/** By what sessions are judged. */
export interface Judgement {
  readonly policy: AppraisalPolicy;
  /** Unix seconds; absent: each session as of the time at which its evidence was fresh. */
  readonly at: number | undefined;
  readonly extra: ExtraMaterial;
  readonly tick: Tick;
}

/** The parts, and what the version decides beside the shape. */
export interface BundleContext extends BundleParts {
  /** What the seal is over. @throws Rejection BUNDLE_SEAL where the run names other keys than those behind it */
  readonly sealedDigest: () => Digest;
  /** What a session is judged with: each alone, and the best verdict counts. */
  readonly materialsOf: (session: ReportedSession, extra: ExtraMaterial) => readonly Endorsements[];
  /** Settles what others said of the sessions. */
  readonly checkWords: (
    book: CheckBook<BundleCode>,
    policy: AppraisalPolicy,
    results: readonly AttestationResult[],
  ) => Promise<void>;
  /** Settles what the transparency log shows; null where the bundle says nothing of one. */
  readonly checkLog: (book: CheckBook<BundleCode>, asked: LogAsked) => Promise<ShownLog | null>;
  /** Parts of the sessions that nothing signed is over. */
  readonly unbound: readonly string[];
  /** Endorsements that no appraisal uses. */
  readonly unused: (judgement: Judgement, results: readonly AttestationResult[]) => Promise<readonly string[]>;
}

interface Readers<T, S> {
  readonly decodeTerms: (encoded: Uint8Array) => T;
  readonly parseEvidence: (encoded: Uint8Array) => S;
  readonly areRounds: (spec: JobSpec) => boolean;
}

/** @throws Rejection where a part cannot be read at all */
export function partsOf<B extends JudgedBundle, T extends BundledJob['terms'], S extends ReportedSession>(
  bundle: B,
  readers: Readers<T, S>,
): BundleParts & { readonly bundle: B; readonly terms: T; readonly sessions: readonly S[] } {
  const { segments } = bundle;
  const spec = parseJobSpec(bundle.spec);
  const terms = readers.decodeTerms(bundle.terms);
  const sessions = bundle.sessions.map(({ evidence }) => readers.parseEvidence(evidence));
  const areRounds = readers.areRounds(spec);
  const parse = areRounds ? parseRoundStatement : parseStepStatement;
  const statements = segments.map(({ statement }) => parse(statement));
  const plan = evaluationPlanOf(spec);
  return { bundle, spec, terms, escrowId: keccak(bundle.terms), sessions, segments, areRounds, plan, statements };
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
