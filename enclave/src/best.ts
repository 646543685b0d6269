/** Weights of the best evaluation, as a checkpoint of a job with the rule `stop` keeps them (enclave/SPEC.md, checkpoints). */
import { equalBytes } from '#attestation/base';
import { evaluationPlanOf, parseEvaluation } from '#attestation/records';
import type { Weights } from '#libs/step';
import type { Chain } from './chain.js';
import type { Measured } from './evaluate.js';
import { standingsBy } from './evaluated.js';
import { checkpointRefused } from './failure.js';
import type { ReadyJob } from './ready-job.js';

/**
 * @param own  weights at the checkpoint's last border
 * @param kept the best ones where those are others
 * @throws Rejection CHECKPOINT_STATE, WEIGHTS_*
 */
export function bestOf(job: ReadyJob, chain: Chain, own: Measured, kept: (() => Weights) | undefined): Measured | null {
  const plan = evaluationPlanOf(job.spec);
  const measured = chain.evaluations.map(({ statement }) => parseEvaluation(statement));
  const best = plan && standingsBy(plan, measured).at(-1)?.best;
  if (!best) return null;
  const { step, weights: digest } = best;
  if (step === own.step) return own;
  const weights = kept?.();
  if (weights !== undefined && equalBytes(job.commitments.border(0, weights), digest)) return { step, weights, digest };
  const expected = `the weights of the best evaluation, at step ${step}`;
  throw checkpointRefused('CHECKPOINT_STATE', expected, kept === undefined ? 'none' : 'others');
}
