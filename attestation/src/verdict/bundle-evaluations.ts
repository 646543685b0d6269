/**
 * The evaluations of a bundle: all that the manifest declares, over the validation set of the spec, and the end of the
 * job that follows from them by the manifest's rule.
 */
import { to0x, toHex } from '../base/bytes.js';
import type { CheckBook } from '../check/checks.js';
import { standingsOf } from '../records/early-stop.js';
import { evaluatedSteps, type EvaluationPlan } from '../records/evaluation-plan.js';
import { metricKinds, parseEvaluation, verifyEvaluation, type EvaluationStatement } from '../records/evaluation.js';
import { programDigest } from '../records/program.js';
import { mismatch, same, sessionAt, type BundleParts } from './bundle-context.js';
import type { BundleCode } from './bundle-rules.js';

type Measured = EvaluationStatement['metrics'][number];

/** Exact integers as decimal text, and what a person reads. */
interface ShownMetric {
  readonly metric: string;
  readonly numerator: string;
  readonly denominator: string;
  readonly figure: string;
}

/** What was measured, for whoever shows it. */
export interface ShownEvaluations {
  readonly validationRoot: string;
  /** Records of the validation set. */
  readonly records: number;
  readonly curve: readonly {
    readonly step: number;
    readonly metrics: readonly ShownMetric[];
  }[];
  /** Step whose weights are delivered. */
  readonly deliveredStep: number;
  /** Null where the manifest has no rule to stop by. */
  readonly reason: 'completed' | 'stopped' | null;
}

interface Evaluated extends BundleParts {
  readonly plan: EvaluationPlan;
  readonly evaluated: readonly EvaluationStatement[];
}

/** Settles what a bundle says of evaluations; a job that declares none has no such checks. */
export async function checkEvaluations(
  book: CheckBook<BundleCode>,
  parts: BundleParts,
  jobId: Uint8Array,
): Promise<ShownEvaluations | null> {
  const { plan, bundle } = parts;
  const given = bundle.evaluations;
  if (plan === null) {
    book.drop('BUNDLE_VALIDATION');
    book.drop('BUNDLE_STOP');
    if (given === undefined) book.drop('BUNDLE_EVALUATIONS');
    else book.settle('BUNDLE_EVALUATIONS', 'forged', `${given.length} evaluations`, 'none: the manifest declares none');
    return null;
  }
  if (plan.stop === null) book.drop('BUNDLE_STOP');
  if (given === undefined) {
    book.settle('BUNDLE_EVALUATIONS', 'missing', 'none', `evaluations every ${plan.every} steps`);
    book.settle('BUNDLE_VALIDATION', 'missing', 'no evaluations');
    if (plan.stop !== null) book.settle('BUNDLE_STOP', 'missing', 'no evaluations');
    return null;
  }
  const evaluated = { ...parts, plan, evaluated: given.map(({ statement }) => parseEvaluation(statement)) };
  await book.attempt('BUNDLE_EVALUATIONS', () => checkDeclared(evaluated, jobId));
  const shown = shownOf(evaluated);
  await book.attempt('BUNDLE_VALIDATION', () => checkValidation(evaluated, shown));
  if (plan.stop !== null) await book.attempt('BUNDLE_STOP', () => checkStop(evaluated));
  return shown;
}

/** weightsDigest of what is delivered: with a rule to stop by the best evaluation's border, else the last one. */
export function deliveredWeights({ plan, bundle }: BundleParts): Uint8Array {
  const last = bundle.evaluations?.at(-1);
  const end = plan?.stop && last ? parseEvaluation(last.statement).end : null;
  return end?.weights ?? bundle.run.last;
}

/** Every declared evaluation of the steps that were trained, once and in order, by the session that signed these steps. */
async function checkDeclared(parts: Evaluated, jobId: Uint8Array): Promise<string> {
  const { plan, bundle, spec, sessions, evaluated } = parts;
  const code = 'BUNDLE_EVALUATIONS';
  const borders = bordersByStep(parts);
  const trained = Math.max(...borders.keys());
  const declared = evaluatedSteps(plan).filter((step) => step <= trained);
  for (const [index, step] of declared.entries()) {
    same(code, `an evaluation after step ${step}`, `an evaluation after step ${evaluated[index]?.step ?? 'none'}`);
  }
  same(code, `${declared.length} evaluations`, `${evaluated.length} evaluations`);
  const program = programDigest(spec.manifest);
  for (const [index, statement] of evaluated.entries()) {
    const { session, receipt } = bundle.evaluations![index]!;
    same(code, `job ${toHex(jobId)}`, `job ${toHex(statement.jobId)}`);
    same(code, `program ${toHex(program)}`, `program ${toHex(statement.programDigest)}`);
    await verifyEvaluation(receipt, statement, sessionAt(sessions, session).binding.receiptKey);
    const signer = signerOf(parts, statement.step);
    const by = (key: Uint8Array | null): string =>
      `the evaluation at step ${statement.step} by ${key === null ? 'nobody' : toHex(key)}`;
    same(code, by(signer), by(sessionAt(sessions, session).binding.receiptKey));
    const border = borders.get(statement.step) ?? statement.weights; // Inside a segment nothing else says what they are.
    same(code, `weights ${toHex(border)}`, `weights ${toHex(statement.weights)}`);
    const hasEnd = plan.stop !== null && index === evaluated.length - 1;
    same(code, hasEnd ? 'an end' : 'no end', statement.end === null ? 'no end' : 'an end');
  }
  return `${evaluated.length} evaluations, every ${plan.every} steps`;
}

/** Over the validation set of the spec, the metrics that are declared, and figures that it can give. */
function checkValidation({ plan, spec, evaluated }: Evaluated, shown: ShownEvaluations): string {
  const code = 'BUNDLE_VALIDATION';
  const { root, records } = spec.validation!;
  const [first] = evaluated;
  for (const statement of evaluated) {
    same(code, `root ${toHex(root)}`, `root ${toHex(statement.validationRoot)}`);
    const metrics = statement.metrics.map(({ metric }) => metric);
    same(code, `metrics ${plan.metrics.join(', ')}`, `metrics ${metrics.join(', ')}`);
    statement.metrics.forEach((one, index) => {
      const { metric, numerator, denominator } = one;
      checkDenominator(one, BigInt(records), BigInt(plan.labels));
      same(code, `${metric} of ${first!.metrics[index]!.denominator}`, `${metric} of ${denominator}`);
      if (metricKinds[metric] === 'lower' || numerator <= denominator) return;
      throw mismatch(code, `${metric} of at most ${denominator}`, `${numerator}`);
    });
  }
  const delivered = evaluated.find(({ step }) => step === shown.deliveredStep) ?? evaluated.at(-1)!;
  const figures = delivered.metrics.map(figureOf).join(', ');
  return `validation ${figures} on ${grouped(records)} rows, root ${to0x(root)}`;
}

/** What a metric can be counted over: attestation/SPEC.md §9.10. */
function checkDenominator({ metric, denominator }: Measured, records: bigint, labels: bigint): void {
  const rows = records * labels;
  const exact = metric === 'exact-match' ? records : rows;
  const [least, most] =
    metric === 'auc'
      ? [0n, (rows * rows) / 2n]
      : (metric === 'accuracy' || metric === 'loss') && labels > 1n
        ? [1n, rows]
        : [exact, exact];
  if (denominator >= least && denominator <= most) return;
  throw mismatch('BUNDLE_VALIDATION', `${metric} over ${least} to ${most}`, `${denominator}`);
}

/** The rule over the signed numerators: when the job ended, why, and which border is delivered. */
function checkStop(parts: Evaluated): string {
  const { plan, bundle, evaluated } = parts;
  const code = 'BUNDLE_STOP';
  const rule = plan.stop!;
  const place = plan.metrics.indexOf(rule.metric);
  const standings = standingsOf(
    rule,
    evaluated.map(({ metrics }) => metrics[place]?.numerator ?? 0n),
  );
  const { step, end } = evaluated.at(-1)!;
  const early = standings.findIndex(({ isOver }, index) => isOver && evaluated[index]!.step < plan.steps);
  const due = early < 0 ? plan.steps : evaluated[early]!.step;
  const reason = early < 0 ? 'completed' : 'stopped';
  same(code, `${reason} at step ${due}`, `${end?.reason ?? 'no end'} at step ${step}`);
  same(code, `outcome ${early < 0 ? 0 : 3}`, `outcome ${bundle.run.outcome}`);
  const best = evaluated[standings.at(-1)!.best]!;
  const border = bordersByStep(parts).get(best.step);
  const named = (at: number, weights: Uint8Array | undefined): string =>
    `step ${at}, ${toHex(weights ?? new Uint8Array())}`;
  same(code, named(best.step, border), named(end!.step, end!.weights));
  return `${reason} at step ${due}; the weights of step ${best.step} are delivered`;
}

/** Receipt key of the session that signed the segment, or round, which has this step; null where none did. */
function signerOf({ statements, segments, sessions }: BundleParts, step: number): Uint8Array | null {
  const at = statements.findIndex(({ stepFrom, stepCount }) => step > stepFrom && step <= stepFrom + stepCount);
  const signed = segments[at]?.signed ?? null;
  return signed && sessionAt(sessions, signed.session).binding.receiptKey;
}

function bordersByStep({ statements }: BundleParts): ReadonlyMap<number, Uint8Array> {
  return new Map(statements.map((one) => [one.stepFrom + one.stepCount, one.weightsAfter]));
}

function shownOf({ spec, evaluated }: Evaluated): ShownEvaluations {
  const { step, end } = evaluated.at(-1)!;
  return {
    validationRoot: toHex(spec.validation!.root),
    records: spec.validation!.records,
    curve: evaluated.map((one) => ({
      step: one.step,
      metrics: one.metrics.map((measured) => ({
        metric: measured.metric,
        numerator: `${measured.numerator}`,
        denominator: `${measured.denominator}`,
        figure: figureOf(measured),
      })),
    })),
    deliveredStep: end?.step ?? step,
    reason: end?.reason ?? null,
  };
}

/** A share as a percentage, cut to two digits; a mean loss in nats, cut to four; other sums as they are. */
function figureOf({ metric, numerator, denominator }: Measured): string {
  if (denominator === 0n) return `${metric} of nothing`;
  if (metricKinds[metric] === 'higher') return `${metric} ${decimal(numerator * 100n, denominator, 2)} %`;
  if (metric === 'loss') return `${metric} ${decimal(numerator, denominator << 16n, 4)}`;
  return `${metric} ${numerator}/${denominator}`;
}

/** Cut; what is small keeps three digits that are no zeros before it. @returns without zeros at its end */
function decimal(numerator: bigint, denominator: bigint, least: number): string {
  const scaled = (digits: number): bigint => (numerator * 10n ** BigInt(digits)) / denominator;
  let digits = least;
  while (numerator > 0n && scaled(digits) < 100n) digits++;
  const text = `${scaled(digits)}`.padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}
