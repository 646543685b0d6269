/** How far a job of the list was trained. */
import { grouped } from '../../reviewer/text.js';
import { short } from '../figures.js';
import { isDelivered } from '../job-state.js';
import { useLoad } from '../load.js';
import { trainedSteps } from '../pace.js';
import type { Escrow, Job } from '../types.js';

/** The list tells nothing of a committed run: whose node told of all steps needs none. */
export function Trained({ job }: { readonly job: Job }) {
  const isAsked = isDelivered(job.state) && stepTold(job) < job.steps;
  const { data } = useLoad<Escrow>(isAsked ? `/v1/jobs/${job.id}/escrow` : null);
  return <Share job={job} escrow={data} />;
}

interface ShareProps {
  readonly job: Job;
  /** Undefined before it is known. */
  readonly escrow: Pick<Escrow, 'segments' | 'upTo'> | undefined;
}

export function Share({ job, escrow }: ShareProps) {
  const told = stepTold(job);
  const step = isDelivered(job.state) ? trainedSteps(job.steps, [], escrow) : told;
  return (
    <span class="done">
      <progress max={job.steps} value={step ?? told} aria-label={`progress of job ${short(job.id)}`} />
      {sentence(job, step)}
    </span>
  );
}

const stepTold = ({ progress }: Job): number => progress?.step ?? 0;

function sentence(job: Job, step: number | null): string {
  if (step === null) return `ended early, ${grouped(job.steps)} steps were planned`;
  if (isDelivered(job.state) && step < job.steps) return `ended early: ${grouped(step)} of ${grouped(job.steps)} steps`;
  return `${Math.floor((100 * step) / job.steps)} % of ${grouped(job.steps)} steps`;
}
