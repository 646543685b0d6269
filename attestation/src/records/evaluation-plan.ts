/** Which evaluations a job declares: its manifest says when and of what, its spec on which validation set. */
import { Rejection } from '../base/errors.js';
import { evaluationsMax } from '../base/limits.js';
import type { StopRule } from './early-stop.js';
import { metricKinds, type Metric } from './evaluation.js';
import { isCount, manifestMembers, refuseManifest } from './manifest-text.js';
import { semanticsOf } from './program.js';

export interface EvaluationPlan {
  /** After every multiple of so many steps, and after the last. */
  readonly every: number;
  readonly steps: number;
  readonly metrics: readonly Metric[];
  /** Labels of one record: 1, or the product of the manifest's `labelShape`. */
  readonly labels: number;
  readonly stop: StopRule | null;
}

/** What of a job spec decides its plan. */
interface EvaluatedSpec {
  readonly manifest: Uint8Array;
  readonly segmentSteps: number;
  readonly parallel?: number | undefined;
  readonly assurance: string;
  readonly validation?: { readonly root: Uint8Array; readonly records: number } | undefined;
}

/**
 * @returns null where the manifest declares no evaluations
 * @throws Rejection JOB_MANIFEST, and JOB_VALIDATION where spec and manifest do not fit each other
 */
export function evaluationPlanOf(spec: EvaluatedSpec): EvaluationPlan | null {
  const plan = declaredBy(spec.manifest);
  demand(
    (plan === null) === (spec.validation === undefined),
    plan === null ? 'no validation set, as the manifest declares no evaluations' : 'a validation set to evaluate on',
    spec.validation === undefined ? 'none' : `${spec.validation.records} records`,
  );
  if (plan === null) return null;
  const count = Math.ceil(plan.steps / plan.every);
  demand(count <= evaluationsMax, `at most ${evaluationsMax} evaluations`, `${count}`);
  const border = spec.segmentSteps * (spec.parallel ?? 1);
  const atBorders = plan.stop !== null || spec.parallel !== undefined;
  const every = `${plan.every} steps`;
  demand(!atBorders || plan.every % border === 0, `evaluations every multiple of ${border} steps`, every);
  demand(
    plan.stop === null || spec.assurance === 'tee',
    "assurance 'tee' where a rule may stop the job",
    spec.assurance,
  );
  return plan;
}

/** Steps done at each evaluation. */
export function evaluatedSteps({ every, steps }: Pick<EvaluationPlan, 'every' | 'steps'>): readonly number[] {
  return Array.from({ length: Math.ceil(steps / every) }, (_, index) => Math.min((index + 1) * every, steps));
}

function declaredBy(manifest: Uint8Array): EvaluationPlan | null {
  if (semanticsOf(manifest) !== 2) return null;
  const { evaluate = null, stop = null, steps, labelShape = [] } = manifestMembers(manifest)!;
  if (evaluate === null && stop === null) return null;
  const { every, metrics } = membersOf('evaluate', evaluate, ['batch', 'every', 'metrics']);
  if (!isCount(steps) || steps === 0) refuseManifest('steps: a whole number above 0', steps);
  if (!isCount(every) || every === 0) refuseManifest('evaluate.every: a whole number above 0', every);
  if (!Array.isArray(metrics) || !metrics.every(isMetric) || new Set(metrics).size !== metrics.length) {
    return refuseManifest('evaluate.metrics: known ones, each once', metrics);
  }
  if (metrics.length === 0) refuseManifest('evaluate.metrics: one or more', 'none');
  if (!Array.isArray(labelShape) || !labelShape.every(isCount)) refuseManifest('labelShape: whole numbers', labelShape);
  const labels = labelShape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(labels)) refuseManifest('labelShape: fewer than 2^53 labels', labels);
  return { every, steps, metrics, labels, stop: stop === null ? null : ruleOf(stop, metrics) };
}

function ruleOf(stop: unknown, metrics: readonly Metric[]): StopRule {
  const { metric, patience, minimum } = membersOf('stop', stop, ['metric', 'minimum', 'patience']);
  if (!isMetric(metric) || !metrics.includes(metric)) refuseManifest('stop.metric: one that is evaluated', metric);
  if (!isCount(patience) || patience === 0) refuseManifest('stop.patience: a whole number above 0', patience);
  if (!Number.isSafeInteger(minimum) || Number(minimum) < 0) refuseManifest('stop.minimum: a whole number', minimum);
  return { metric, patience, minimum: Number(minimum) };
}

/** @param names in the order of their text */
function membersOf(what: string, value: unknown, names: readonly string[]): Readonly<Record<string, unknown>> {
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  if (members.sort().join(', ') !== names.join(', '))
    refuseManifest(`${what}: ${names.join(', ')}`, members.join(', '));
  return value as Record<string, unknown>;
}

function isMetric(value: unknown): value is Metric {
  return typeof value === 'string' && Object.hasOwn(metricKinds, value);
}

function demand(holds: boolean, expected: string, got: string): void {
  if (holds) return;
  throw new Rejection('JOB_VALIDATION', { expected, got, rule: 'attestation/SPEC.md, evaluations' });
}
