/** What operators look at, over GraphQL: appraisals of their nodes, and earnings. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Query, Resolver } from '@nestjs/graphql';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { AppraisalCheck, Appraisals, AppraisalView } from '../../evidence/appraisals.js';
import { EarningPage, Earnings, EarningView } from '../../settlement/earnings.js';
import { ProblemFilter } from '../problem.filter.js';
import './escrow.resolver.js';
import { nodeId } from './nodes.resolver.js';
import { objectType } from './object-type.js';

objectType('AppraisalCheck', AppraisalCheck);
const AppraisalType = objectType('Appraisal', AppraisalView, { leaseId: ID, jobId: ID });
objectType('Earning', EarningView, { jobId: ID });
const EarningPageType = objectType('EarningPage', EarningPage);

@Resolver()
@UseFilters(ProblemFilter)
export class OperatorResolver {
  constructor(
    private readonly appraisals: Appraisals,
    private readonly earnings: Earnings,
  ) {}

  /** What policies of jobs said of a node's evidence, newest first. */
  @Query(() => [AppraisalType])
  @Allow('operator', 'admin')
  nodeAppraisals(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<AppraisalView[]> {
    return this.appraisals.of(caller, nodeId(id));
  }

  /** What the account of the key was paid, job by job. */
  @Query(() => EarningPageType)
  @Allow('operator')
  earningPage(
    @Caller() caller: Principal,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<EarningPage> {
    return this.earnings.list(caller, Math.min(Math.max(limit, 1), 200), cursor ?? undefined);
  }
}
