/**
 * What a proof bundle claims, as a document that goes with it: consecutive segments of one job, their borders and their
 * data. Everything else, the StepStatements included, follows from it.
 */
import { equalBytes, to0x } from '#attestation/base';
import { segmentDigest, stepStatementDigest, type JobSpec, type StepStatement } from '#attestation/records';
import { canonicalJson, manifestDigest, type Manifest } from '#libs/step';
import { derivePlan, profileNamed, weightsDigestOf, type Commitment, type Plan, type Variant } from '#libs/zk/verifier';
import { chainJson, commitment, parseChainStatement, type ChainStatement, type ProofEscrow } from './fields.js';
import { refuse } from './refuse.js';

export interface ProofStatement extends ChainStatement<Commitment> {
  readonly backend: 'sumcheck';
  readonly profile: string;
  readonly variant: Variant;
}

const rule = 'libs/proof/SPEC.md, statement';

/**
 * @param json a parsed JSON value
 * @throws Rejection PROOF_STATEMENT, and those of `parseManifest`
 */
export function parseProofStatement(json: unknown): ProofStatement {
  const { chain, members } = parseChainStatement(json, 'sumcheck', ['profile', 'variant'], commitment);
  const { profile, variant } = members;
  if (typeof profile !== 'string') return refuse('PROOF_STATEMENT', 'a profile', profile, rule);
  if (variant === 'joint' || variant === 'separate') return { backend: 'sumcheck', profile, variant, ...chain };
  return refuse('PROOF_STATEMENT', "variant 'joint' or 'separate'", variant, rule);
}

/** RFC 8785 text of the document. */
export function proofStatementText(statement: ProofStatement): string {
  const { profile, variant } = statement;
  const chain = chainJson(statement, ({ root, ood }) => ({ root: to0x(root), ood: to0x(ood) }));
  return canonicalJson({ ...chain, profile, variant });
}

/** @throws Rejection STEP_PLAN, STEP_EXTENSION */
export function planOf(statement: Pick<ProofStatement, 'manifest' | 'profile' | 'variant'>): Plan {
  return derivePlan(statement.manifest, profileNamed(statement.profile), statement.variant);
}

/**
 * The plan that a job in scheme `fxt-zk/1` is proved under. Terms are signed and segments proved only after this check:
 * the chain knows the plan by its digest alone.
 *
 * @throws Rejection STEP_PLAN, also when the digest in the spec is that of another plan
 */
export function planOfJob({ proving }: Pick<JobSpec, 'proving'>, manifest: Manifest): Plan {
  if (proving === null) return refuse('STEP_PLAN', "a job in scheme 'fxt-zk/1'", 'another', 'libs/zk/SPEC.md §12');
  const plan = planOf({ manifest, ...proving });
  if (equalBytes(plan.digest, proving.planDigest)) return plan;
  return refuse('STEP_PLAN', `plan ${to0x(plan.digest)}`, to0x(proving.planDigest), 'libs/zk/SPEC.md §4.5');
}

/** What one proof covers: the how manieth it is of its job, and its steps. */
interface ProvedSteps {
  readonly index: number;
  readonly from: number;
  readonly count: number;
}

/**
 * Steps that segment `index` of the statement counts: fewer at the end of a job that ends inside it.
 *
 * @param length steps that one proof covers
 * @throws Rejection STEP_STATEMENT
 */
export function stepsOf(
  { manifest, firstStep }: Pick<ProofStatement, 'manifest' | 'firstStep'>,
  index: number,
  length = manifest.superblock,
): ProvedSteps {
  const from = firstStep + index * length;
  if (from >= manifest.steps) {
    refuse('STEP_STATEMENT', `a segment that begins before step ${manifest.steps}`, from, 'libs/zk/SPEC.md §2.2');
  }
  return { index: from / length, from, count: Math.min(length, manifest.steps - from) };
}

/** What all segments together claim. */
export function wholeStatement(statement: ProofStatement, plan: Plan): StepStatement {
  const { segments, firstStep } = statement;
  const last = stepsOf(statement, segments.length - 1, plan.shape.steps);
  return stepStatementOf(statement, plan, firstStep, last.from + last.count - firstStep, [0, segments.length]);
}

/** What the proof of one segment is bound to: its Segment where there is an escrow, else its StepStatement. */
export function segmentOuterDigest(
  {
    jobId,
    manifest,
    datasetRoot,
    escrow,
  }: Pick<ProofStatement, 'jobId' | 'manifest' | 'datasetRoot'> & { readonly escrow?: ProofEscrow | undefined },
  { index, from, count: stepCount }: ProvedSteps,
  weightsBefore: Uint8Array,
  weightsAfter: Uint8Array,
): Uint8Array {
  if (escrow !== undefined)
    return segmentDigest(escrow.domain, { job: escrow.job, index, weightsBefore, weightsAfter });
  const programDigest = manifestDigest(manifest);
  return stepStatementDigest({
    ...{ jobId, programDigest, datasetRoot, stepFrom: from, stepCount, weightsBefore, weightsAfter },
  });
}

function stepStatementOf(
  { jobId, manifest, datasetRoot, borders }: ProofStatement,
  plan: Plan,
  stepFrom: number,
  stepCount: number,
  [before, after]: readonly [number, number],
): StepStatement {
  return {
    jobId,
    programDigest: manifestDigest(manifest),
    datasetRoot,
    stepFrom,
    stepCount,
    weightsBefore: weightsDigestOf(borders[before]!, plan),
    weightsAfter: weightsDigestOf(borders[after]!, plan),
  };
}
