/** Jobs on the same data set that an order may repeat: one that nothing funds waits for ever, one that is funded is paid again. */
import type { ControlPlaneApi } from '../api.js';
import { isEnded, type JobView } from './follow.js';

export type OwnJob = Pick<JobView, 'id' | 'state' | 'escrowState'>;

/** Jobs that are looked at, newest first. */
const jobsMax = 100;

/** @param datasetId 0x-hexadecimal @returns those of the tenant's last jobs that have not ended */
export async function openJobsOf(datasetId: string, api: ControlPlaneApi): Promise<readonly OwnJob[]> {
  const { items } = await api.get<{ readonly items: readonly JobView[] }>(`jobs?limit=${jobsMax}`);
  return items.filter((job) => job.datasetId === datasetId && !isEnded(job.state));
}
