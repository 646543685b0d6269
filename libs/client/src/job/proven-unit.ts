/** What the proofs of a job will take, before anybody pays for it. */
import { ConfigurationError } from '#attestation/base';
import { proofUnitOf, type ProofUnit } from '#libs/proof';
import { isNet, type JobManifest } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';
import type { ProvingChoice, ProvingRequest } from './backend.js';

/**
 * @param samples segments that are drawn, where the assurance is sampled
 * @returns null where the contract takes no step proof of the job
 * @throws ConfigurationError JOB_PROOF_TRANSACTION where no transaction carries one of them: it could never be discharged
 */
export function provenUnit(
  manifest: JobManifest,
  { scheme, proving }: Pick<ProvingChoice, 'scheme' | 'proving'>,
  { assurance = 'tee', onLapse }: ProvingRequest,
  samples: number,
): ProofUnit | null {
  const isProved = assurance !== 'tee' || onLapse === 'zk';
  if (!isProved || proving === null || scheme === groth16SchemeId || isNet(manifest)) return null;
  const whole = proofUnitOf(manifest, proving);
  if (whole.gas === null) throw tooLong(whole);
  return assurance === 'sampled' ? proofUnitOf(manifest, proving, Math.min(samples, whole.proofs)) : whole;
}

function tooLong({ steps, profile, proofBytes }: ProofUnit): ConfigurationError {
  return new ConfigurationError('JOB_PROOF_TRANSACTION', {
    expected: 'proofs that the contract verifies in one transaction each',
    got: `about ${proofBytes} bytes for ${steps} steps under ${profile}`,
    rule: 'libs/proof/SPEC.md §5',
    action: 'seal the data again with `veritrain dataset seal --provable`, for a manifest with a smaller superblock',
  });
}
