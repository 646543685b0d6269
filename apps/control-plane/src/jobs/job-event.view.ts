/** What an event of a job looks like from outside, where its type does not matter for its form. */
import { z } from 'zod';
import type { JobEvent } from '#libs/persistence';
import { Hex32 } from '#libs/wire';
import { ProgressView, speakerOf } from './job.view.js';

export const JobEventView = z
  .object({
    eventId: z.string(),
    jobId: Hex32,
    /** `state`, `progress`, `checkpoint` and others. */
    type: z.string(),
    at: z.iso.datetime(),
    state: z.string().nullable(),
    code: z.string().nullable(),
    saidBy: z.string().nullable(),
    progress: ProgressView.nullable(),
  })
  .meta({ id: 'JobEvent' });
export type JobEventView = z.infer<typeof JobEventView>;

export const FeedEventView = JobEventView.extend({
  /** To go on from: nothing after it was missed, and what is a little older may come again. */
  mark: z.string(),
}).meta({ id: 'FeedEvent' });
export type FeedEventView = z.infer<typeof FeedEventView>;

export function jobEventView({ id, jobId, type, at, data }: JobEvent): JobEventView {
  const code = (data['code'] as string | null | undefined) ?? null;
  return {
    ...{ eventId: id, jobId, type, at: at.toISOString(), code },
    state: type === 'state' ? String(data['to']) : null,
    saidBy: data['saidBy'] === 'node' ? 'node' : speakerOf(code, data['reason']),
    progress: type === 'progress' ? (data as unknown as ProgressView) : null,
  };
}
