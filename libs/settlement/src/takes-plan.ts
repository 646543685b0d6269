/** Whether proofs under a plan can be discharged at all: a set of contracts has the floor of the day on which it was made. */
import { Contract, ZeroHash, type Provider } from 'ethers';
import { Rejection } from '#attestation/base';
import { isInTwoParts, type Plan } from '#libs/zk/verifier';
import { artefacts, errorAbi } from './contracts.js';
import type { Deployment } from './deployment.js';
import { chainFailure } from './failure.js';
import { planSealOf } from './zk-seal.js';

/**
 * Asks the set's own verifier, which judges the plan of a seal before anything else in it (contracts/SPEC.md §11). Sends nothing.
 *
 * @param plan  of step-proof `fxt-zk/1`
 * @returns false too where the set has no verifier for such proofs
 * @throws CollateralError CHAIN_UNREACHABLE; Rejection CHAIN_REVERT where the answer does not say which
 */
export async function takesPlan(
  { zkStepVerifier, extensions }: Pick<Deployment, 'zkStepVerifier' | 'extensions'>,
  provider: Provider,
  plan: Plan,
): Promise<boolean> {
  const isSplit = isInTwoParts(plan.profile);
  const address = isSplit ? extensions?.zkSplitVerifier?.address : zkStepVerifier;
  const isUnit = plan.shape.segmentVars > 0;
  if (address === undefined || (isUnit && extensions?.zkUnitMatmuls === undefined)) return false;
  const { abi } = isSplit ? artefacts.zkSplitVerifier : artefacts.zkStepVerifier;
  const call = isSplit ? 'begin' : 'verify';
  try {
    await new Contract(address, abi, provider).getFunction(call).staticCall(planSealOf(plan), ZeroHash);
  } catch (error) {
    const failure = chainFailure(error, call, errorAbi);
    if (failure instanceof Rejection && failure.code === 'STEP_STATEMENT') return true;
    if (failure instanceof Rejection && failure.code === 'STEP_PLAN') return false;
    throw failure;
  }
  // No verifier takes such a seal: none stands there.
  return false;
}
