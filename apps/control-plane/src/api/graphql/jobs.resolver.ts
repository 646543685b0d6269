/** The same jobs over GraphQL, and their progress as a subscription. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { z } from 'zod';
import type { JobEvent } from '#libs/persistence';
import { Hex32, JobRequirements } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import type { Page } from '../../core/paging.js';
import { refusal } from '../../core/problem/codes.js';
import { JobCommands } from '../../jobs/job-commands.js';
import { eventId, JobStream } from '../../jobs/job-stream.js';
import { EdgeFiguresView, JobPage, JobView, ProgressView, speakerOf } from '../../jobs/job.view.js';
import { Jobs } from '../../jobs/jobs.service.js';
import { jobStates, type JobState } from '../../jobs/state-machine.js';
import { ProblemFilter } from '../problem.filter.js';
import { objectType } from './object-type.js';

const JobEventView = z.object({
  eventId: z.string(),
  /** `state`, `progress`, `checkpoint` and others. */
  type: z.string(),
  at: z.iso.datetime(),
  state: z.string().nullable(),
  code: z.string().nullable(),
  saidBy: z.string().nullable(),
  progress: ProgressView.nullable(),
});
type JobEventView = z.infer<typeof JobEventView>;

objectType('EdgeFigures', EdgeFiguresView);
objectType('Progress', ProgressView);
objectType('JobRequirements', JobRequirements);
export const JobType = objectType('Job', JobView, { id: ID, escrowId: ID, datasetId: ID });
const JobPageType = objectType('JobPage', JobPage);
const JobEventType = objectType('JobEvent', JobEventView, { eventId: ID });

@Resolver(() => JobType)
@UseFilters(ProblemFilter)
export class JobsResolver {
  constructor(
    private readonly jobs: Jobs,
    private readonly commands: JobCommands,
    private readonly stream: JobStream,
  ) {}

  @Query(() => JobType)
  @Allow('client', 'reviewer', 'admin')
  job(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<JobView> {
    return this.jobs.view(caller, hexId(id));
  }

  @Query(() => JobPageType)
  @Allow('client', 'reviewer', 'admin')
  async jobPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
    @Args('state', { type: () => String, nullable: true }) state: string | null,
  ): Promise<Page<JobView>> {
    const known = state === null || state === undefined ? undefined : jobState(state);
    return this.jobs.list(caller, {
      limit: Math.min(Math.max(limit, 1), 200),
      cursor: cursor ?? undefined,
      state: known,
    });
  }

  @Mutation(() => JobType)
  @Allow('client', 'admin')
  cancelJob(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<JobView> {
    return this.commands.cancel(caller, hexId(id));
  }

  @Mutation(() => JobType)
  @Allow('client', 'admin')
  pauseJob(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<JobView> {
    return this.commands.pause(caller, hexId(id));
  }

  @Mutation(() => JobType)
  @Allow('client', 'admin')
  resumeJob(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<JobView> {
    return this.commands.resume(caller, hexId(id));
  }

  @Mutation(() => JobType)
  @Allow('client', 'admin')
  retryJob(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<JobView> {
    return this.commands.retry(caller, hexId(id));
  }

  @Mutation(() => JobType)
  @Allow('client', 'admin')
  reorderJob(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
    @Args('priority', { type: () => Int }) priority: number,
  ): Promise<JobView> {
    if (priority < 0 || priority > 9) throw malformed('a priority from 0 to 9', String(priority));
    return this.commands.reorder(caller, hexId(id), priority);
  }

  /** Every event of a job after `afterEventId`, live. */
  @Subscription(() => JobEventType, { resolve: (event: JobEvent) => eventType(event) })
  @Allow('client', 'reviewer', 'admin')
  async jobProgress(
    @Caller() caller: Principal,
    @Args('jobId', { type: () => ID }) id: string,
    @Args('afterEventId', { type: () => ID, defaultValue: '0' }) afterEventId: string,
  ): Promise<AsyncIterableIterator<JobEvent>> {
    const after = eventId(afterEventId);
    const job = await this.jobs.find(caller, hexId(id));
    return abortable((abort) => this.stream.open(caller, job.id, after, abort));
  }
}

/** An iterator whose return also ends a wait inside the generator. */
function abortable(make: (abort: AbortController) => AsyncGenerator<JobEvent>): AsyncIterableIterator<JobEvent> {
  const abort = new AbortController();
  const inner = make(abort);
  return {
    next: () => inner.next(),
    return: () => {
      abort.abort();
      return inner.return(undefined);
    },
    throw: (error: unknown) => {
      abort.abort();
      return inner.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function eventType(event: JobEvent): JobEventView {
  const { data } = event;
  const code = (data['code'] as string | null | undefined) ?? null;
  return {
    eventId: event.id,
    type: event.type,
    at: event.at.toISOString(),
    state: event.type === 'state' ? String(data['to']) : null,
    code,
    saidBy: data['saidBy'] === 'node' ? 'node' : speakerOf(code, data['reason']),
    progress: event.type === 'progress' ? (data as unknown as ProgressView) : null,
  };
}

export function hexId(id: string): string {
  if (!Hex32.safeParse(id).success) throw malformed('0x and 64 lower-case hexadecimal digits', id);
  return id;
}

function jobState(state: string): JobState {
  const found = jobStates.find((known) => known === state);
  if (found === undefined) throw malformed(jobStates.join(' | '), state);
  return found;
}

function malformed(expected: string, got: string): Error {
  return refusal('REQUEST_MALFORMED', { expected, got: got.slice(0, 80), rule: 'schema.graphql' });
}
