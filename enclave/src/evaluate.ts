/**
 * Metrics of a job on its validation set, as exact integers signed by the session's receipt key, and the public rule by
 * which they may end the job (attestation/SPEC.md §9.10; libs/step/SPEC.md §29).
 */
import { NetForward } from '#libs/onnx';
import {
  encodeEvaluation,
  evaluatedSteps,
  evaluationPlanOf,
  parseEvaluation,
  signEvaluation,
  standingsOf,
  type EvaluationPlan,
  type EvaluationStatement,
} from '#attestation/records';
import { manifestDigest, NetMeasurement, parametersOf, type NetManifest, type Weights } from '#libs/step';
import { sessionOf, type Chain } from './chain.js';
import type { SessionKeys } from './keys.js';
import type { ReadyJob } from './ready-job.js';

/** Weights at an evaluation. */
export interface Measured {
  readonly step: number;
  readonly weights: Weights;
  /** Their weightsDigest. */
  readonly digest: Uint8Array;
}

/** What a job has measured so far. */
interface Evaluations {
  readonly chain: Chain;
  /** Of the best evaluation; null where the job has no rule, or has not evaluated yet. */
  readonly best: Measured | null;
}

export interface Evaluator {
  /** Steps up to the next evaluation behind `step`, or to `end` where none comes before. */
  next(step: number, end: number): number;
  isDue(step: number): boolean;
  /** @returns what stands after the evaluation, its statement last in the chain */
  evaluate(before: Evaluations, measured: Measured, keys: SessionKeys): Promise<Evaluations>;
  /** Whether the rule has ended the job. */
  isOver(chain: Chain): boolean;
  close(): Promise<void>;
}

/** @returns null where the job does not evaluate */
export async function openEvaluator(job: ReadyJob, threads: number): Promise<Evaluator | null> {
  const plan = evaluationPlanOf(job.spec);
  if (plan === null) return null;
  const manifest = job.manifest as NetManifest;
  const forward = await NetForward.open(manifest, threads);
  const steps = evaluatedSteps(plan);
  return {
    next: (step, end) => Math.min(end, steps.find((one) => one > step) ?? end),
    isDue: (step) => steps.includes(step),
    isOver: (chain) => lastOf(chain)?.end != null,
    close: () => forward.close(),
    async evaluate({ chain, best }, measured, keys) {
      const metrics = await measure(job, forward, measured.weights);
      const { end, best: leading } = standing(plan, chain, metrics, measured, best);
      const statement: EvaluationStatement = {
        ...{ version: 1, jobId: job.jobId, programDigest: manifestDigest(manifest) },
        ...{ validationRoot: job.spec.validation!.root, step: measured.step, weights: measured.digest },
        ...{ metrics, end },
      };
      job.lease.check();
      const receipt = await signEvaluation(statement, keys.binding.receiptKey, keys.signReceipt);
      const { session, sessions } = sessionOf(chain, job.own);
      const signed = { session, statement: encodeEvaluation(statement), receipt };
      return { chain: { ...chain, sessions, evaluations: [...chain.evaluations, signed] }, best: leading };
    },
  };
}

type Metrics = EvaluationStatement['metrics'];

async function measure(
  { manifest, validation, genesis }: ReadyJob,
  forward: NetForward,
  state: Weights,
): Promise<Metrics> {
  const net = manifest as NetManifest;
  const examples = validation!;
  const measurement = new NetMeasurement(net);
  const labels = examples.labels.length / examples.count;
  for await (const { first, rows, output } of forward.outputs(parametersOf(net, state, genesis.frozen), examples)) {
    measurement.add(output, examples.labels.subarray(first * labels, (first + rows) * labels));
  }
  return measurement.results().map(({ metric, numerator, denominator }) => ({
    ...{ metric: metric as Metrics[number]['metric'], numerator, denominator },
  }));
}

/** The end that an evaluation brings, and the best one so far. */
function standing(
  { stop, steps }: EvaluationPlan,
  chain: Chain,
  metrics: Metrics,
  measured: Measured,
  best: Measured | null,
): { readonly end: EvaluationStatement['end']; readonly best: Measured | null } {
  if (stop === null) return { end: null, best: null };
  const numerator = (of: Metrics): bigint => of.find(({ metric }) => metric === stop.metric)!.numerator;
  const former = chain.evaluations.map(({ statement }) => numerator(parseEvaluation(statement).metrics));
  const standings = standingsOf(stop, [...former, numerator(metrics)]);
  const { best: index, isOver } = standings.at(-1)!;
  const leading = index === former.length || best === null ? measured : best;
  const isEnd = isOver || measured.step === steps;
  const reason = isOver && measured.step < steps ? 'stopped' : 'completed';
  return { end: isEnd ? { reason, step: leading.step, weights: leading.digest } : null, best: leading };
}

function lastOf({ evaluations }: Chain): EvaluationStatement | undefined {
  const last = evaluations.at(-1);
  return last && parseEvaluation(last.statement);
}
