/** Contracts as a version made them whose floor of step-proof plans did not have a profile yet. */
import type { JsonRpcProvider } from 'ethers';
import { toHex } from '#attestation/base';
import { isInTwoParts, profileNamed } from '#libs/zk/verifier';
import type { Deployment } from '#libs/settlement';

/** Makes the row of the profile in the code of the contract that holds it (ZkFloor.sol) one of a code that nothing has. */
export async function forgetProfile(chain: JsonRpcProvider, deployment: Deployment, name: string): Promise<void> {
  const profile = profileNamed(name);
  const { m, logBlowup, randomRows, k1, logBlowup1, queries0 } = profile;
  const row = toHex(Uint8Array.of(m, logBlowup, randomRows, k1, logBlowup1, queries0));
  const { zkStepVerifier, extensions } = deployment;
  const address = isInTwoParts(profile) ? extensions!.zkProofHead!.address : zkStepVerifier;
  const parts = (await chain.getCode(address)).split(row);
  if (parts.length !== 2) throw new Error(`${parts.length - 1} rows of ${name} in the code`);
  await chain.send('anvil_setCode', [address, parts.join(`ff${row.slice(2)}`)]);
}
