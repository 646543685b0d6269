/** What administrators look at, over GraphQL: API keys, the audit log, dead letters. Keys are made over REST, where a retry makes no second one. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { KeyId, type KeyView } from '#libs/wire';
import { AuditList, AuditPage, AuditView, ListAudit } from '../../core/audit/audit-list.js';
import { ApiKeys, Key, KeyPage } from '../../core/auth/api-keys.js';
import { Allow, Caller, demandGlobal, isGlobal, type Principal } from '../../core/auth/principal.js';
import { DeadLetterPage, DeadLetters, DeadLetterView, LetterId } from '../../core/events/dead-letters.js';
import { decodeCursor, type Page } from '../../core/paging.js';
import { ProblemFilter } from '../problem.filter.js';
import { objectType } from './object-type.js';
import { read, shown } from './arguments.js';

const KeyType = objectType('Key', Key, { id: ID });
const KeyPageType = objectType('KeyPage', KeyPage);
objectType('AuditEntry', AuditView, { id: ID });
const AuditPageType = objectType('AuditPage', AuditPage);
const DeadLetterType = objectType('DeadLetter', DeadLetterView, { id: ID });
const DeadLetterPageType = objectType('DeadLetterPage', DeadLetterPage);

@Resolver()
@UseFilters(ProblemFilter)
export class AdminResolver {
  constructor(
    private readonly keys: ApiKeys,
    private readonly audit: AuditList,
    private readonly letters: DeadLetters,
  ) {}

  /** Those of the caller's reach, in the order of their ids. */
  @Query(() => KeyPageType)
  @Allow('admin')
  keyPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<Page<KeyView>> {
    return this.keys.list(caller, shown(limit), cursor == null ? undefined : decodeCursor(cursor, KeyId));
  }

  /** The key is refused from the next request on. */
  @Mutation(() => KeyType)
  @Allow('admin')
  revokeKey(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<KeyView> {
    return this.keys.revoke(caller, read(KeyId, id, 'the id of an API key'));
  }

  /** Who did what, newest first; for an administrator of one tenant, what its keys did. */
  @Query(() => AuditPageType)
  @Allow('admin')
  auditPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
    @Args('actor', { type: () => String, nullable: true }) actor: string | null,
    @Args('action', { type: () => String, nullable: true }) action: string | null,
    @Args('subject', { type: () => String, nullable: true }) subject: string | null,
  ): Promise<AuditPage> {
    const asked = Object.entries({ cursor, actor, action, subject }).filter(([, value]) => value != null);
    const query = read(
      ListAudit,
      { limit: shown(limit), ...Object.fromEntries(asked) },
      'names of 1 to 200 characters',
    );
    return this.audit.list(isGlobal(caller) ? null : caller.tenant, query);
  }

  /** Messages that could not be taken, newest first. */
  @Query(() => DeadLetterPageType)
  @Allow('admin')
  deadLetterPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<DeadLetterPage> {
    demandGlobal(caller);
    return this.letters.list(shown(limit), cursor == null ? undefined : decodeCursor(cursor));
  }

  /** Handles a message again, as from its sender; `replayCode` says how that ended. */
  @Mutation(() => DeadLetterType)
  @Allow('admin')
  replayDeadLetter(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<DeadLetterView> {
    demandGlobal(caller);
    return this.letters.replay(caller, read(LetterId, id, 'the id of a message that was put aside'));
  }
}
