/** Jobs on the same data set that an order may repeat: one that nothing funds waits for ever, one that is funded is paid again. */
import { CodedError } from '#attestation/base';
import type { ControlPlaneApi } from '../api/api.js';
import { isEnded, type JobView } from '../api/follow.js';

export type OwnJob = Pick<JobView, 'id' | 'state' | 'escrowState'>;

/** Jobs that are looked at, newest first. */
const jobsMax = 100;

interface Looked {
  /** Of the last jobs that the key may see, those that have not ended. */
  readonly jobs: readonly OwnJob[];
  /** Where the look failed, which is no reason not to order. */
  readonly advice: readonly string[];
}

/** @param datasetId 0x-hexadecimal */
export async function openJobsOf(datasetId: string, api: ControlPlaneApi): Promise<Looked> {
  try {
    const { items } = await api.get<{ readonly items: readonly JobView[] }>(`jobs?limit=${jobsMax}`);
    return { jobs: items.filter((job) => job.datasetId === datasetId && !isEnded(job.state)), advice: [] };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { jobs: [], advice: [`Whether an open job has the same data set was not found out (${error.code}).`] };
  }
}
