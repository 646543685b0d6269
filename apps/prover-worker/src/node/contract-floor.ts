/** Whether the contracts take the proofs of a job at all, which no file of a deployment says. */
import { Rejection } from '#attestation/base';
import { planOfJob } from '#libs/proof';
import { connect, takesPlan } from '#libs/settlement';
import { parseManifestText } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';
import type { OfferedJob } from './offered-job.js';
import type { ProverSettings } from './settings.js';

/**
 * Before a node asks for the key, to stake or to prove for others. Groth16 proofs hold under a key that the contract is shown before the stake.
 *
 * @throws Rejection PROVER_JOB, CHAIN_REVERT; CollateralError CHAIN_UNREACHABLE
 */
export async function checkFloor(
  { spec }: Pick<OfferedJob, 'spec'>,
  { chain }: Pick<ProverSettings, 'chain'>,
): Promise<void> {
  if (spec.scheme === groth16SchemeId) return;
  const plan = planOfJob(spec, parseManifestText(spec.manifest));
  const { rpcUrl, deployment, pollingMs } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  try {
    if (await takesPlan(deployment, rpc, plan)) return;
  } finally {
    rpc.destroy();
  }
  throw new Rejection('PROVER_JOB', {
    expected: `a set of contracts whose floor takes the plan of profile ${plan.profile.name}`,
    got: 'one whose verifier refuses it',
    rule: 'contracts/SPEC.md §11',
    action: 'offer a job on a newer deployment, or on data sealed for a profile that this one takes',
  });
}
