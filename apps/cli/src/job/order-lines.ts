/** What is said while a job is ordered, on standard error: lines for people, or with --json one JSON document a line. */
import type { OwnJob, Watch } from '#libs/client';
import { log, type OutputOptions } from '../output.js';

/** An id is told before money moves: whoever ends the command then knows what to follow or cancel. */
export function showOrder(
  { json = false }: OutputOptions,
  say: (line: string) => void = log,
): Required<Pick<Watch, 'onSameDataset' | 'onPosted'>> {
  return {
    onSameDataset(jobs) {
      if (json)
        say(JSON.stringify({ sameDataset: jobs.map(({ id, state, escrowState }) => ({ id, state, escrowState })) }));
      else for (const job of jobs) say(otherLine(job));
    },
    onPosted(jobId) {
      say(json ? JSON.stringify({ posted: { jobId } }) : `posted  job ${jobId}; its escrow is opened next`);
    },
  };
}

function otherLine({ id, state, escrowState }: OwnJob): string {
  const job = `note: job ${id} is on the same data set`;
  return escrowState === 'none'
    ? `${job}, and no escrow of it is seen: where its submit did not finish, veritrain job cancel ${id}`
    : `${job}, ${state} with an escrow that is ${escrowState}: this is another job, which is paid for besides`;
}
