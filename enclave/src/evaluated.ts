/**
 * Evaluations behind a run: each that its manifest declares, of its borders, and the end that follows by its rule
 * (attestation/SPEC.md §9.10).
 */
import { toHex, type Rejection } from '#attestation/base';
import {
  evaluatedSteps,
  evaluationPlanOf,
  parseEvaluation,
  standingsOf,
  type Checkpoint,
  type EvaluationPlan,
  type EvaluationStatement,
} from '#attestation/records';
import { divideSteps, manifestDigest } from '#libs/step';
import { checkpointRefused } from './failure.js';
import type { ReadyJob } from './ready-job.js';

/** An evaluation behind a run, and which of the chain's sessions signed it. */
export interface SignedEvaluation {
  readonly session: number;
  readonly statement: Uint8Array;
  readonly receipt: Uint8Array;
}

interface Evaluated {
  readonly evaluations: readonly SignedEvaluation[];
}

type Measurement = Pick<EvaluationStatement, 'step' | 'weights' | 'metrics'>;

interface Standing {
  /** The best so far. */
  readonly best: Measurement;
  readonly end: EvaluationStatement['end'];
}

/** Whether the job has ended by its last evaluation. */
export function isOver({ evaluations }: Evaluated): boolean {
  const last = evaluations.at(-1);
  return last !== undefined && parseEvaluation(last.statement).end !== null;
}

/** @returns how things stand after each evaluation; nothing where the job has no rule to stop by */
export function standingsBy(
  { stop, steps }: Pick<EvaluationPlan, 'stop' | 'steps'>,
  measured: readonly Measurement[],
): readonly Standing[] {
  if (stop === null) return [];
  const numerators = measured.map(({ metrics }) => metrics.find(({ metric }) => metric === stop.metric)!.numerator);
  return standingsOf(stop, numerators).map(({ best: index, isOver: isStopped }, at) => {
    const best = measured[index]!;
    const isLast = measured[at]!.step === steps;
    const reason = isStopped && !isLast ? 'stopped' : 'completed';
    return { best, end: isStopped || isLast ? { reason, step: best.step, weights: best.weights } : null };
  });
}

/**
 * A checkpoint has every evaluation that is declared up to its step, once and in order, each of the border that stands
 * there, by the session that signed the steps before it, and only the last may end the job. Else whoever can write one
 * chooses when the rule stops and what is delivered, or one session that stands behind no border says how good all are.
 *
 * @throws Rejection CHECKPOINT_EVALUATIONS, MESSAGE_SHAPE
 */
export function checkEvaluations(
  { jobId, spec, manifest }: Pick<ReadyJob, 'jobId' | 'spec' | 'manifest'>,
  { step: reached, borders, links, evaluations = [] }: Pick<Checkpoint, 'step' | 'borders' | 'links' | 'evaluations'>,
): void {
  const plan = evaluationPlanOf(spec);
  const declared = plan === null ? [] : evaluatedSteps(plan).filter((step) => step <= reached);
  if (evaluations.length !== declared.length) {
    throw refused(`${declared.length} evaluations up to step ${reached}`, `${evaluations.length}`);
  }
  if (plan === null) return;
  const said = evaluations.map(({ statement }) => parseEvaluation(statement));
  const common = { jobId, programDigest: manifestDigest(manifest), validationRoot: spec.validation!.root };
  const { roundSteps } = divideSteps(manifest, spec);
  for (const [at, one] of said.entries()) {
    const step = declared[at]!;
    const isBorder = step % roundSteps === 0 || step === manifest.steps;
    // Inside a segment nothing else says what they are.
    const weights = isBorder ? borders[Math.ceil(step / roundSteps)]! : one.weights;
    const { session } = links[Math.ceil(step / roundSteps) - 1]!;
    requireSame(
      textsOf({ ...common, session, step, weights, metrics: plan.metrics }),
      textsOf({ ...one, session: evaluations[at]!.session, metrics: kindsOf(one) }),
    );
  }
  const standings = standingsBy(plan, said);
  for (const [at, { step, end }] of said.entries()) {
    const isLast = at === said.length - 1;
    requireSame([endText(step, standings[at]?.end ?? null)], [endText(step, end)]);
    if (end !== null && !isLast) throw refused(`no evaluation behind step ${step}, which ended the job`, 'one');
  }
}

function kindsOf({ metrics }: EvaluationStatement): EvaluationPlan['metrics'] {
  return metrics.map(({ metric }) => metric);
}

type Bound = Pick<EvaluationStatement, 'jobId' | 'programDigest' | 'validationRoot' | 'step' | 'weights'> &
  Pick<EvaluationPlan, 'metrics'> &
  Pick<SignedEvaluation, 'session'>;

function textsOf({ jobId, programDigest, validationRoot, session, step, weights, metrics }: Bound): readonly string[] {
  return [
    `an evaluation after step ${step}`,
    `job ${toHex(jobId)}`,
    `program ${toHex(programDigest)}`,
    `validation set ${toHex(validationRoot)}`,
    `weights ${toHex(weights)} at step ${step}`,
    `metrics ${metrics.join(', ')}`,
    `the evaluation at step ${step} by session ${session}`,
  ];
}

function endText(step: number, end: EvaluationStatement['end']): string {
  if (end === null) return `no end after step ${step}`;
  return `the end after step ${step}: ${end.reason}, step ${end.step}, weights ${toHex(end.weights)}`;
}

function requireSame(expected: readonly string[], got: readonly string[]): void {
  const at = expected.findIndex((text, index) => text !== got[index]);
  if (at >= 0) throw refused(expected[at]!, got[at]!);
}

function refused(expected: string, got: string): Rejection {
  return checkpointRefused('CHECKPOINT_EVALUATIONS', expected, got);
}
