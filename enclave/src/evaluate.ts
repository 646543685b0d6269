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
  type EvaluationStatement,
} from '#attestation/records';
import { manifestDigest, parametersOf, type NetManifest, type Weights } from '#libs/step';
import { sessionOf, type Chain } from './chain.js';
import { measure } from './engine/measure.js';
import { standingsBy } from './evaluated.js';
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
    close: () => forward.close(),
    async evaluate({ chain, best }, measured, keys) {
      const parameters = parametersOf(manifest, measured.weights, job.genesis.frozen);
      const metrics = await measure(forward, parameters, job.validation!);
      const { step, digest: weights } = measured;
      const former = chain.evaluations.map(({ statement }) => parseEvaluation(statement));
      const standing = standingsBy(plan, [...former, { step, weights, metrics }]).at(-1);
      const statement: EvaluationStatement = {
        ...{ version: 1, jobId: job.jobId, programDigest: manifestDigest(manifest) },
        ...{ validationRoot: job.spec.validation!.root, step, weights, metrics, end: standing?.end ?? null },
      };
      job.lease.check();
      const receipt = await signEvaluation(statement, keys.binding.receiptKey, keys.signReceipt);
      const { session, sessions } = sessionOf(chain, job.own);
      const signed = { session, statement: encodeEvaluation(statement), receipt };
      return {
        chain: { ...chain, sessions, evaluations: [...chain.evaluations, signed] },
        best: standing?.best.step === step ? measured : best,
      };
    },
  };
}
