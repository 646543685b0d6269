/** An appraisal policy as the owner has it in a file. */
import { parsePolicy, verifyPolicy, type AppraisalPolicy } from '#attestation';
import { fromUtf8 } from '#attestation/base';

/**
 * @param signer whose signed policies alone count; absent: JSON that the settings' owner vouches for
 * @throws Rejection COSE_*, DOCUMENT_*; ConfigurationError POLICY_*
 */
export async function readPolicy(file: Uint8Array, signer: Uint8Array | undefined): Promise<AppraisalPolicy> {
  return signer === undefined ? parsePolicy(fromUtf8(file)) : verifyPolicy(file, signer);
}
