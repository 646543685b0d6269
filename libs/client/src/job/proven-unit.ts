/** What the proofs of a job will take, before anybody pays for it. */
import { ConfigurationError } from '#attestation/base';
import { proofUnitOf, type ProofUnit } from '#libs/proof';
import type { Deployment } from '#libs/settlement';
import { isNet, type JobManifest } from '#libs/step';
import { groth16SchemeId, isInTwoParts, profileNamed } from '#libs/zk/verifier';
import type { ProvingChoice, ProvingRequest } from './backend.js';

/**
 * @param samples segments that are drawn, where the assurance is sampled
 * @param set the contracts that are to take them
 * @returns null where the contract takes no step proof of the job
 * @throws ConfigurationError JOB_PROOF_TRANSACTION where no transaction carries one of them, JOB_PROOF_VERIFIER where no
 *   contract of the set verifies them: they could never be discharged
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
  return assurance === 'sampled' ? proofUnitOf(manifest, proving, Math.min(samples, whole.proofs)) : whole;
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
