/** What became of a job, over GraphQL: its segments, and what its policy said of the evidence of nodes. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Int, Query, Resolver } from '@nestjs/graphql';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Appraisals, type AppraisalView } from '../../evidence/appraisals.js';
import { Jobs } from '../../jobs/jobs.service.js';
import { SegmentPage, Segments, SegmentView } from '../../jobs/segments.js';
import { ProblemFilter } from '../problem.filter.js';
import { shown } from './arguments.js';
import { hexId } from './jobs.resolver.js';
import { objectType } from './object-type.js';
import { AppraisalType } from './operator.resolver.js';

objectType('Segment', SegmentView);
const SegmentPageType = objectType('SegmentPage', SegmentPage);

@Resolver()
@UseFilters(ProblemFilter)
export class WorkResolver {
  constructor(
    private readonly jobs: Jobs,
    private readonly segments: Segments,
    private readonly appraisals: Appraisals,
  ) {}

  /** Segments of a job one by one, in their order. */
  @Query(() => SegmentPageType)
  @Allow('client', 'reviewer', 'admin')
  jobSegmentPage(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
    @Args('limit', { type: () => Int, defaultValue: 50 }) limit: number,
    @Args('cursor', { type: () => String, nullable: true }) cursor: string | null,
  ): Promise<SegmentPage> {
    return this.segments.list(caller, hexId(id), shown(limit), cursor ?? undefined);
  }

  /** What the policy of a job said of the evidence that nodes offered, newest first, refused ones too. */
  @Query(() => [AppraisalType])
  @Allow('client', 'reviewer', 'admin')
  async jobAppraisals(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
  ): Promise<AppraisalView[]> {
    return this.appraisals.ofJob((await this.jobs.find(caller, hexId(id))).id);
  }
}
