/** The same tenants over GraphQL. */
import { UseFilters } from '@nestjs/common';
import { Args, Float, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { TenantName } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor } from '../../core/paging.js';
import { refusal } from '../../core/problem/codes.js';
import { TenantLimits, TenantPage, Tenants, TenantView } from '../../jobs/tenants.service.js';
import { ProblemFilter } from '../problem.filter.js';
import { objectType } from './object-type.js';

const TenantType = objectType('Tenant', TenantView, { datasetBytes: Float, datasetBytesMax: Float });
const TenantPageType = objectType('TenantPage', TenantPage);

@Resolver(() => TenantType)
@UseFilters(ProblemFilter)
export class TenantsResolver {
  constructor(private readonly tenants: Tenants) {}

  /** What each tenant has, and how much it may have. */
  @Query(() => TenantPageType)
  @Allow('admin')
  tenantPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<TenantPage> {
    const after = cursor === null || cursor === undefined ? undefined : decodeCursor(cursor, TenantName);
    return this.tenants.list(caller, Math.min(Math.max(limit, 1), 200), after);
  }

  /** Sets all limits of a tenant; one that is null is that of the settings again. */
  @Mutation(() => TenantType)
  @Allow('admin')
  limitTenant(
    @Caller() caller: Principal,
    @Args('tenant', { type: () => String }) tenant: string,
    @Args('jobsWaitingMax', { type: () => Int, nullable: true }) jobsWaitingMax: number | null,
    @Args('jobsUnderWayMax', { type: () => Int, nullable: true }) jobsUnderWayMax: number | null,
    @Args('datasetBytesMax', { type: () => Float, nullable: true }) datasetBytesMax: number | null,
  ): Promise<TenantView> {
    const read = TenantLimits.safeParse({ jobsWaitingMax, jobsUnderWayMax, datasetBytesMax });
    if (read.success) return this.tenants.limit(caller, tenant, read.data);
    const { path, message } = read.error.issues[0]!;
    throw refusal('REQUEST_MALFORMED', {
      expected: `${path.join('.')}: ${message}`,
      got: 'another value',
      rule: 'schema.graphql',
    });
  }
}
