/** What the proofs of a job will take, before anybody pays for it. */
import { ConfigurationError } from '#attestation/base';
import type { Provider } from 'ethers';
import { dearestProofCost, planOf, planOfJob, proofUnitOf, type ProofUnit } from '#libs/proof';
import { takesPlan, type Deployment } from '#libs/settlement';
import { isNet, type JobManifest, type Manifest } from '#libs/step';
import { groth16SchemeId, isInTwoParts, profileNamed } from '#libs/zk/verifier';
import type { ProvingChoice, ProvingRequest } from './backend.js';
import { checkSamples } from './terms.js';

/**
 * @param samples segments that are drawn, where the assurance is sampled
 * @param set the contracts that are to take them
 * @returns null where the contract takes no step proof of the job
 * @throws ConfigurationError JOB_SAMPLES, JOB_PROOF_TRANSACTION where no transaction carries one of them, JOB_PROOF_VERIFIER
 *   where no contract of the set verifies them: they could never be discharged
 */
export function provenUnit(
  manifest: JobManifest,
  { scheme, proving }: Pick<ProvingChoice, 'scheme' | 'proving'>,
  { assurance = 'tee', onLapse }: ProvingRequest,
  samples: number,
  set: Pick<Deployment, 'extensions'>,
): ProofUnit | null {
  const isProved = assurance !== 'tee' || onLapse === 'zk';
  if (!isProved || proving === null || scheme === groth16SchemeId || isNet(manifest)) return null;
  const whole = proofUnitOf(manifest, proving);
  if (whole.gas === null) throw tooLong(whole);
  const isSplit = isInTwoParts(profileNamed(proving.profile));
  if (isSplit && set.extensions?.zkSplitVerifier === undefined) {
    throw noVerifier('zkSplitVerifier, which takes proofs in two transactions', proving.profile);
  }
  if (whole.steps > manifest.superblock && set.extensions?.zkUnitMatmuls === undefined) {
    throw noVerifier('zkUnitMatmuls, which takes proofs of several segments', proving.profile);
  }
  if (assurance !== 'sampled') return whole;
  checkSamples(whole.proofs, samples);
  if (dearestProofCost(manifest, planOf({ manifest, ...proving }), samples).gas === undefined) {
    throw tooDear(whole, samples);
  }
  return proofUnitOf(manifest, proving, Math.min(samples, whole.proofs));
}

/**
 * What only the chain can say: a set of contracts that was made before a profile refuses its proofs, whatever it consists of.
 *
 * @throws ConfigurationError JOB_PROOF_VERIFIER; CollateralError CHAIN_UNREACHABLE; Rejection CHAIN_REVERT
 */
export async function checkFloor(
  manifest: Manifest,
  proving: ProvingChoice['proving'],
  set: Pick<Deployment, 'zkStepVerifier' | 'extensions'>,
  rpc: Provider,
): Promise<void> {
  const plan = planOfJob({ proving }, manifest);
  if (await takesPlan(set, rpc, plan)) return;
  throw new ConfigurationError('JOB_PROOF_VERIFIER', {
    expected: `a set of contracts whose floor takes the plan of profile ${plan.profile.name}`,
    got: 'one whose verifier refuses it',
    rule: 'contracts/SPEC.md §11',
    action: 'name a newer deployment, or seal the data again with `--proof-profile` and a profile that it takes',
  });
}

function noVerifier(contract: string, profile: string): ConfigurationError {
  return new ConfigurationError('JOB_PROOF_VERIFIER', {
    expected: `a set of contracts with ${contract}`,
    got: `one without, for proofs under ${profile}`,
    rule: 'contracts/SPEC.md §11',
    action: 'name a deployment that has it, or seal the data again for a manifest with a smaller superblock',
  });
}

function tooLong({ steps, profile, proofBytes }: ProofUnit): ConfigurationError {
  return new ConfigurationError('JOB_PROOF_TRANSACTION', {
    expected: 'proofs that the contract verifies in one transaction each, or in two',
    got: `about ${proofBytes} bytes for ${steps} steps under ${profile}`,
    rule: 'libs/proof/SPEC.md §5',
    action: 'seal the data again with `veritrain dataset seal --provable`, for a manifest with a smaller superblock',
  });
}

/** Each fits a transaction by itself, and not with the hashes that find its segment among so many draws. */
function tooDear({ profile }: ProofUnit, samples: number): ConfigurationError {
  return new ConfigurationError('JOB_PROOF_TRANSACTION', {
    expected: 'proofs that one transaction verifies beside the sample',
    got: `${samples} samples under ${profile}`,
    rule: 'contracts/SPEC.md §8',
    action: 'ask for fewer with --samples, or for a proof of every segment with --assurance zk',
  });
}
