/** Whether the contracts take the proofs of a job at all, which no file of a deployment says. */
import { Rejection } from '#attestation/base';
import type { JobSpec } from '#attestation/records';
import { planOfJob } from '#libs/proof';
import { takesPlan, type Deployment } from '#libs/settlement';
import { parseManifestText } from '#libs/step';

/**
 * @param job  in scheme `fxt-zk/1`
 * @throws Rejection HOST_TERMS_PLAN, STEP_PLAN, CHAIN_REVERT; CollateralError CHAIN_UNREACHABLE
 */
export async function checkProvedPlan(
  job: Pick<JobSpec, 'manifest' | 'proving'>,
  deployment: Deployment,
  rpc: Parameters<typeof takesPlan>[1],
): Promise<void> {
  const plan = planOfJob(job, parseManifestText(job.manifest));
  if (await takesPlan(deployment, rpc, plan)) return;
  throw new Rejection('HOST_TERMS_PLAN', {
    expected: `a set of contracts whose floor takes the plan of profile ${plan.profile.name}`,
    got: 'one whose verifier refuses it',
    rule: 'contracts/SPEC.md §11',
    action: 'offer a job on a newer deployment, or on data sealed for a profile that this one takes',
  });
}
