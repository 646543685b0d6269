/** How a job goes on whose session is attested no more: in another enclave, or, where its escrow agreed, proved. */
import { mayBeProvedInstead } from '#attestation/records';
import type { Job } from '#libs/persistence';
import { decideAssurance } from '#libs/proof';
import { openJob } from '../jobs/open-job.js';

/** Why a lease ended whose session had the data key and is attested no more. */
export const lapseCodes: ReadonlySet<string> = new Set(['ATTESTATION_LAPSED', 'ATTESTATION_REFUSED']);

/**
 * The job's steps so far stay what they are; from now on a node without a TEE has it.
 * @param at unix seconds
 * @returns the change of the job's row, if any
 */
export function assuranceOnLapse(job: Pick<Job, 'assurance' | 'spec' | 'terms' | 'price'>, at: number): Partial<Job> {
  const { spec } = openJob(job);
  if (job.assurance !== 'tee' || !mayBeProvedInstead(spec, openJob(job).terms)) return {};
  const asked = { requested: spec.assurance, priceWei: BigInt(job.price), highValueFromWei: null, isHighValue: false };
  return { assurance: decideAssurance(asked, { hasTee: true, attestedUntil: at }, at).assurance };
}
