/** Verification keys on chain: entered once by anyone, named by what they bind. Groth16StepVerifier of contracts/. */
import { Contract, type Signer } from 'ethers';
import { to0x } from '#attestation/base';
import {
  circuitDigest,
  groth16PlanDigest,
  recordSizes,
  weightLayoutDigest,
  type Ceremony,
  type CircuitShape,
} from '#libs/zk/verifier';
import type { Hex } from './chain.js';
import { artefacts, errorAbi } from './contracts.js';
import type { Deployment } from './deployment.js';
import { chainFailure } from './failure.js';
import { submit, submitOptions, type SubmitChoice } from './transaction.js';

interface RegisteredKey {
  /** groth16PlanDigest: what the terms of jobs under this key name. */
  readonly plan: Hex;
  /** Of this registration; null: the key was there already. */
  readonly txHash: string | null;
}

interface EnteredKey {
  readonly shape: CircuitShape;
  readonly ceremony: Ceremony;
  /** Its bytes: libs/zk/src/groth16/SPEC.md §6. */
  readonly key: Uint8Array;
}

/** @throws Rejection GROTH16_DEVELOPMENT, GROTH16_KEY, STEP_PLAN; CollateralError CHAIN_* */
export async function registerGroth16Key(
  signer: Signer,
  { chainId, groth16StepVerifier, setup }: Deployment,
  { shape, ceremony, key }: EnteredKey,
  choice?: SubmitChoice,
): Promise<RegisteredKey> {
  const plan = to0x(groth16PlanDigest(shape, ceremony, key));
  const verifier = new Contract(groth16StepVerifier, artefacts.groth16StepVerifier.abi, signer);
  const circuit = [circuitDigest(shape), weightLayoutDigest(shape), ...recordSizes(shape)];
  try {
    if ((await verifier.getFunction('isRegistered')(plan)) === true) return { plan, txHash: null };
    const call = verifier.getFunction('register');
    const request = await call.populateTransaction(circuit, ceremony === 'development', key);
    const { hash } = await submit(signer, chainId, request, submitOptions(setup.kind, choice));
    return { plan, txHash: hash };
  } catch (error) {
    throw chainFailure(error, 'register', errorAbi);
  }
}
