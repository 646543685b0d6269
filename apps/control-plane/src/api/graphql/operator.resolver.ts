/** What operators look at, over GraphQL: appraisals and preflights of their nodes, and earnings. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { PreflightCheck, PreflightReport } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { AppraisalCheck, Appraisals, AppraisalView } from '../../evidence/appraisals.js';
import { refusal } from '../../core/problem/codes.js';
import { Nodes } from '../../nodes/nodes.service.js';
import { Preflights, PreflightView } from '../../nodes/preflights.js';
import { EarningPage, Earnings, EarningView } from '../../settlement/earnings.js';
import { ProblemFilter } from '../problem.filter.js';
import { shown } from './arguments.js';
import './escrow.resolver.js';
import { nodeId } from './nodes.resolver.js';
import { inputType, objectType } from './object-type.js';

objectType('AppraisalCheck', AppraisalCheck);
export const AppraisalType = objectType('Appraisal', AppraisalView, { leaseId: ID, jobId: ID });
objectType('Earning', EarningView, { jobId: ID });
objectType('PreflightCheck', PreflightCheck);
const PreflightType = objectType('Preflight', PreflightView, { id: ID });
inputType('NewPreflightCheck', PreflightCheck);
const NewPreflightType = inputType('NewPreflight', PreflightReport);
const EarningPageType = objectType('EarningPage', EarningPage);

@Resolver()
@UseFilters(ProblemFilter)
export class OperatorResolver {
  constructor(
    private readonly appraisals: Appraisals,
    private readonly earnings: Earnings,
    private readonly nodes: Nodes,
    private readonly preflights: Preflights,
  ) {}

  /** What policies of jobs said of a node's evidence, newest first. */
  @Query(() => [AppraisalType])
  @Allow('operator', 'admin')
  nodeAppraisals(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<AppraisalView[]> {
    return this.appraisals.of(caller, nodeId(id));
  }

  /** What the account of a node was paid, job by job, for those that it had. */
  @Query(() => EarningPageType)
  @Allow('operator', 'admin')
  async nodeEarningPage(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<EarningPage> {
    return this.earnings.ofNode(await this.nodes.own(caller, nodeId(id)), shown(limit), cursor ?? undefined);
  }

  /** What preflights found on a node's host, as posted, newest first. */
  @Query(() => [PreflightType])
  @Allow('operator', 'admin')
  nodePreflights(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<PreflightView[]> {
    return this.preflights.of(caller, nodeId(id));
  }

  /** Keeps what a preflight found on a node's host. */
  @Mutation(() => PreflightType)
  @Allow('operator')
  postPreflight(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
    @Args('report', { type: () => NewPreflightType }) report: object,
  ): Promise<PreflightView> {
    const read = PreflightReport.safeParse({ policy: null, ...report });
    if (read.success) return this.preflights.post(caller, nodeId(id), read.data);
    const { path, message } = read.error.issues[0]!;
    throw refusal('REQUEST_MALFORMED', {
      expected: `report.${path.join('.')}: ${message}`,
      got: 'another value',
      rule: 'schema.graphql',
    });
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
