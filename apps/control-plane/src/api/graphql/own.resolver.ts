/** Over GraphQL: whoever asks, their sessions, and what of their jobs stands in the transparency log. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { Me, Mine } from '../../core/auth/me.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Sessions, SessionView } from '../../core/auth/sessions.js';
import type { Page } from '../../core/paging.js';
import { LogEntries, LogEntryPage, LogEntryView, LogState, NamedLog } from '../../evidence/log-entries.js';
import { ProblemFilter } from '../problem.filter.js';
import { hexId } from './jobs.resolver.js';
import { objectType } from './object-type.js';

const MeType = objectType('Me', Me);
const SessionType = objectType('Session', SessionView, { id: ID });
objectType('NamedLog', NamedLog);
const LogStateType = objectType('LogState', LogState);
objectType('LogEntry', LogEntryView, { id: ID });
const LogEntryPageType = objectType('LogEntryPage', LogEntryPage);

@Resolver()
@UseFilters(ProblemFilter)
export class OwnResolver {
  constructor(
    private readonly mine: Mine,
    private readonly sessions: Sessions,
    private readonly log: LogEntries,
  ) {}

  @Query(() => MeType)
  @Allow('client', 'operator', 'reviewer', 'admin')
  me(@Caller() caller: Principal): Promise<Me> {
    return this.mine.of(caller);
  }

  /** Sessions of the console that the key opened. */
  @Query(() => [SessionType])
  @Allow('client', 'operator', 'reviewer', 'admin')
  ownSessions(@Caller() caller: Principal): Promise<SessionView[]> {
    return this.sessions.of(caller);
  }

  @Mutation(() => Boolean)
  @Allow('client', 'operator', 'reviewer', 'admin')
  async endSession(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<boolean> {
    await this.sessions.end(caller, id);
    return true;
  }

  @Query(() => LogStateType)
  @Allow('client', 'reviewer', 'admin')
  logState(@Caller() caller: Principal): Promise<LogState> {
    return this.log.state(caller);
  }

  @Query(() => LogEntryPageType)
  @Allow('client', 'reviewer', 'admin')
  logEntryPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
    @Args('job', { type: () => ID, nullable: true }) job: string | null,
  ): Promise<Page<LogEntryView>> {
    return this.log.list(caller, {
      limit: Math.min(Math.max(limit, 1), 200),
      cursor: cursor ?? undefined,
      job: typeof job === 'string' ? hexId(job) : undefined,
    });
  }
}
