/** Weights of the best evaluation, as a checkpoint of a job with the rule `stop` keeps them (enclave/SPEC.md, checkpoints). */
import { equalBytes, Rejection } from '#attestation/base';
import { evaluationPlanOf, parseEvaluation, standingsOf } from '#attestation/records';
import type { Weights } from '#libs/step';
import type { Chain } from './chain.js';
import type { Measured } from './evaluate.js';
import type { ReadyJob } from './ready-job.js';

/**
 * @param own  weights at the checkpoint's last border
 * @param kept the best ones where those are others
 * @throws Rejection CHECKPOINT_STATE, WEIGHTS_*
 */
export function bestOf(job: ReadyJob, chain: Chain, own: Measured, kept: (() => Weights) | undefined): Measured | null {
  const rule = evaluationPlanOf(job.spec)?.stop;
  if (!rule || chain.evaluations.length === 0) return null;
  const statements = chain.evaluations.map(({ statement }) => parseEvaluation(statement));
  const numerators = statements.map(({ metrics }) => metrics.find(({ metric }) => metric === rule.metric)!.numerator);
  const { step, weights: digest } = statements[standingsOf(rule, numerators).at(-1)!.best]!;
  if (step === own.step) return own;
  const weights = kept?.();
  if (weights !== undefined && equalBytes(job.commitments.border(0, weights), digest)) return { step, weights, digest };
  throw new Rejection('CHECKPOINT_STATE', {
    expected: `the weights of the best evaluation, at step ${step}`,
    got: kept === undefined ? 'none' : 'others',
    rule: 'enclave/SPEC.md, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}
