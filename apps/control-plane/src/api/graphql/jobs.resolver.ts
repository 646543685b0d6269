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
import { FeedEventView, jobEventView, JobEventView } from '../../jobs/job-event.view.js';
import { JobFeed } from '../../jobs/job-feed.js';
import { eventId, JobStream } from '../../jobs/job-stream.js';
import { assuranceKinds, EdgeFiguresView, JobPage, JobView, ProgressView } from '../../jobs/job.view.js';
import { Jobs, searchShape } from '../../jobs/jobs.service.js';
import { jobStates } from '../../jobs/state-machine.js';
import { ProblemFilter } from '../problem.filter.js';
import { objectType } from './object-type.js';

const Since = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

objectType('EdgeFigures', EdgeFiguresView);
objectType('Progress', ProgressView);
objectType('JobRequirements', JobRequirements);
export const JobType = objectType('Job', JobView, { id: ID, escrowId: ID, datasetId: ID });
const JobPageType = objectType('JobPage', JobPage);
const JobEventType = objectType('JobEvent', JobEventView, { eventId: ID, jobId: ID });
const FeedEventType = objectType('FeedEvent', FeedEventView, { eventId: ID, jobId: ID, mark: ID });

@Resolver(() => JobType)
@UseFilters(ProblemFilter)
export class JobsResolver {
  constructor(
    private readonly jobs: Jobs,
    private readonly commands: JobCommands,
    private readonly stream: JobStream,
    private readonly feed: JobFeed,
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
    @Args('assurance', { type: () => String, nullable: true }) assurance: string | null,
    @Args('since', { type: () => String, nullable: true }) since: string | null,
    @Args('search', { type: () => String, nullable: true }) search: string | null,
  ): Promise<Page<JobView>> {
    return this.jobs.list(caller, {
      limit: Math.min(Math.max(limit, 1), 200),
      cursor: cursor ?? undefined,
      state: given(state, z.enum(jobStates), jobStates.join(' | ')),
      assurance: given(assurance, assuranceKinds, assuranceKinds.options.join(' | ')),
      since: given(since, Since, 'a time like 2027-01-31T00:00:00Z'),
      search: given(search, z.string().regex(searchShape), 'the beginning of an id, or a code'),
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
  @Subscription(() => JobEventType, { resolve: jobEventView })
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

  /** Every event of every job that the caller sees, from now on, or from a `mark` on. */
  @Subscription(() => FeedEventType, { resolve: (event: FeedEventView) => event })
  @Allow('client', 'reviewer', 'admin')
  async jobEvents(
    @Caller() caller: Principal,
    @Args('afterMark', { type: () => ID, nullable: true }) afterMark: string | null,
  ): Promise<AsyncIterableIterator<FeedEventView>> {
    const from = typeof afterMark === 'string' ? eventId(afterMark) : null;
    const abort = new AbortController();
    const events = await this.feed.open(caller, from, abort);
    return abortable(() => events, abort);
  }
}

/** An iterator whose return also ends a wait inside the generator. */
function abortable<T>(
  make: (abort: AbortController) => AsyncGenerator<T>,
  abort = new AbortController(),
): AsyncIterableIterator<T> {
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

export function hexId(id: string): string {
  if (!Hex32.safeParse(id).success) throw malformed('0x and 64 lower-case hexadecimal digits', id);
  return id;
}

/** @throws Rejection REQUEST_MALFORMED */
function given<T>(value: string | null | undefined, form: z.ZodType<T>, expected: string): T | undefined {
  if (value === null || value === undefined) return undefined;
  const parsed = form.safeParse(value);
  if (!parsed.success) throw malformed(expected, value);
  return parsed.data;
}

function malformed(expected: string, got: string): Error {
  return refusal('REQUEST_MALFORMED', { expected, got: got.slice(0, 80), rule: 'schema.graphql' });
}
