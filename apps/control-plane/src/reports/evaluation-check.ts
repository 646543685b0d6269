/** Whether the evaluations that come with a delivery are the job's, signed by its sessions, before they are stored. */
import { equalBytes, fromBase64, fromHex, Rejection, to0x } from '#attestation/base';
import {
  evaluatedSteps,
  evaluationPlanOf,
  parseEvaluation,
  programDigest,
  verifyEvaluation,
  type EvaluationStatement,
  type StepStatement,
} from '#attestation/records';
import type { Job } from '#libs/persistence';
import type { LeaseDeliver } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';
import { openJob } from '../jobs/open-job.js';
import { deliveredSteps, stoppedByRule } from './delivered-run.js';

type Delivered = Pick<LeaseDeliver, 'evaluations' | 'run'>;

/**
 * @param keys receipt keys of the job's appraised sessions, 0x-hexadecimal
 * @throws Rejection DELIVERY_EVALUATIONS; what `parseEvaluation` and `verifyEvaluation` say
 */
export async function checkEvaluations(
  job: Pick<Job, 'id' | 'spec' | 'terms'>,
  { evaluations = [], run }: Delivered,
  keys: ReadonlySet<string>,
): Promise<void> {
  const { spec } = openJob(job);
  const plan = evaluationPlanOf(spec);
  if (plan === null) return agree('number of evaluations', 0, evaluations.length);
  const statements = evaluations.map(({ statement }) => parseEvaluation(fromBase64(statement)));
  const declared = evaluatedSteps(plan);
  const last = statements.at(-1)?.step ?? 0;
  const isStopped = run.outcome === stoppedByRule;
  agree('last evaluation after step', deliveredSteps(spec, plan.steps, run), last);
  agree('steps', declared.filter((step) => step <= last).join(), statements.map(({ step }) => step).join());
  const program = programDigest(spec.manifest);
  for (const [index, statement] of statements.entries()) {
    const { key, receipt } = evaluations[index]!;
    agree('job', job.id, to0x(statement.jobId));
    agree('program', to0x(program), to0x(statement.programDigest));
    agree('validation root', to0x(spec.validation!.root), to0x(statement.validationRoot));
    agree('metrics', plan.metrics.join(), statement.metrics.map(({ metric }) => metric).join());
    agree('key of', 'a session of this job', keys.has(key) ? 'a session of this job' : key);
    await verifyEvaluation(fromBase64(receipt), statement, fromHex(key));
    const hasEnd = plan.stop !== null && index === statements.length - 1;
    agree('end', hasEnd ? (isStopped ? 'stopped' : 'completed') : 'none', statement.end?.reason ?? 'none');
  }
}

/** A segment, or round, as it was signed. */
export interface SignedSegment {
  readonly statement: Pick<StepStatement, 'stepFrom' | 'stepCount' | 'weightsAfter'>;
  /** Receipt key of the session whose receipt over it the bundle shows, 0x-hexadecimal; null: none signed it. */
  readonly signer: string | null;
}

/** What is measured, a session that signed its steps measured, and at a border of its weights. @throws Rejection DELIVERY_EVALUATIONS */
export function checkMeasured({ evaluations = [] }: Delivered, segments: readonly SignedSegment[]): void {
  const ends = segments.map(({ statement }) => statement.stepFrom + statement.stepCount);
  const borders = new Map(segments.map(({ statement }, at) => [ends[at]!, statement.weightsAfter]));
  for (const { key, statement } of evaluations) {
    const { step, weights, end }: EvaluationStatement = parseEvaluation(fromBase64(statement));
    const signer = segments[ends.findIndex((one) => step <= one)]?.signer ?? 'none';
    agree(`the evaluation after step ${step} by the session that signed its segment, key`, signer, key);
    const border = borders.get(step);
    if (border !== undefined && !equalBytes(border, weights)) throw refused('weights', to0x(border), to0x(weights));
    if (end === null) continue;
    const best = borders.get(end.step);
    if (best === undefined || !equalBytes(best, end.weights)) {
      throw refused('delivered weights', best === undefined ? 'of a border' : to0x(best), to0x(end.weights));
    }
  }
}

/** @throws Rejection DELIVERY_EVALUATIONS */
function agree(what: string, expected: string | number, got: string | number): void {
  if (expected !== got) throw refused(what, String(expected), String(got));
}

function refused(what: string, expected: string, got: string): Rejection {
  return refusal('DELIVERY_EVALUATIONS', {
    expected: `${what} ${expected}`,
    got,
    rule: 'attestation/SPEC.md §9.10',
    action: 'Deliver the evaluations that the enclave signed, all of them, in the order of their steps.',
  });
}
