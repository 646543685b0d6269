import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { PreflightReport, Uuid } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor, PageQuery } from '../../core/paging.js';
import { Appraisals, AppraisalView } from '../../evidence/appraisals.js';
import { NodePage, Nodes, NodeView } from '../../nodes/nodes.service.js';
import { Preflights, PreflightView } from '../../nodes/preflights.js';
import { EarningPage, Earnings } from '../../settlement/earnings.js';

const NewPreflight = PreflightReport.meta({ id: 'NewPreflight' });

@ApiTags('nodes')
@ApiBearerAuth()
@Controller('v1/nodes')
export class NodesController {
  constructor(
    private readonly nodes: Nodes,
    private readonly appraisalsOf: Appraisals,
    private readonly earningsOf: Earnings,
    private readonly preflightsOf: Preflights,
  ) {}

  @Get()
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: NodePage })
  list(@Caller() caller: Principal, @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>) {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, Uuid);
    return this.nodes.list(caller, query.limit, after);
  }

  @Get(':id')
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: NodeView })
  get(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<NodeView> {
    return this.nodes.find(caller, id);
  }

  /** What policies of jobs said of its evidence, newest first: 50 of them. */
  @Get(':id/appraisals')
  @Allow('operator', 'admin')
  @ApiResponse({ status: 200, standardSchema: z.array(AppraisalView) })
  appraisals(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<AppraisalView[]> {
    return this.appraisalsOf.of(caller, id);
  }

  /** What its account was paid, job by job, for those that it had. */
  @Get(':id/earnings')
  @Allow('operator', 'admin')
  @ApiResponse({ status: 200, standardSchema: EarningPage })
  async earnings(
    @Caller() caller: Principal,
    @Param('id', { schema: Uuid }) id: string,
    @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>,
  ): Promise<EarningPage> {
    return this.earningsOf.ofNode(await this.nodes.own(caller, id), query.limit, query.cursor);
  }

  /** What preflights found on its host, as posted, newest first: the last 10. */
  @Get(':id/preflight')
  @Allow('operator', 'admin')
  @ApiResponse({ status: 200, standardSchema: z.array(PreflightView) })
  preflights(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<PreflightView[]> {
    return this.preflightsOf.of(caller, id);
  }

  /** Keeps what a preflight found on its host; the oldest goes where there are more than 10. */
  @Post(':id/preflight')
  @Allow('operator')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: PreflightView })
  postPreflight(
    @Caller() caller: Principal,
    @Param('id', { schema: Uuid }) id: string,
    @Body({ schema: NewPreflight }) body: PreflightReport,
  ): Promise<PreflightView> {
    return this.preflightsOf.post(caller, id, body);
  }

  /** Gives it jobs again. */
  @Post(':id/ready')
  @HttpCode(200)
  @Allow('operator', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: NodeView })
  ready(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, id, 'ready');
  }

  /** Gives it no new jobs; what it has goes on. */
  @Post(':id/cordon')
  @HttpCode(200)
  @Allow('operator', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: NodeView })
  cordon(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, id, 'cordoned');
  }

  /** Takes its jobs back, each at its next checkpoint. */
  @Post(':id/drain')
  @HttpCode(200)
  @Allow('operator', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: NodeView })
  drain(@Caller() caller: Principal, @Param('id', { schema: Uuid }) id: string): Promise<NodeView> {
    return this.nodes.schedule(caller, id, 'draining');
  }
}
