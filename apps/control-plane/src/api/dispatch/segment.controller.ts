/** The messages of workers of data-parallel jobs, each checked against its schema before it gets here. */
import { Controller, UseInterceptors } from '@nestjs/common';
import { BaseRpcContext, Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import {
  pattern,
  SegmentAcquire,
  SegmentDeliver,
  SegmentFail,
  SegmentJoin,
  SegmentProgress,
  SegmentRenewed,
} from '#libs/wire';
import { SegmentAssignment } from '../../claims/segment-assignment.js';
import { hungUp } from '../../core/auth/connection.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Streams } from '../../core/overload/streams.js';
import { SegmentReports } from '../../reports/segment-reports.js';
import { WorkerRenewals } from '../../reports/worker-renewals.js';
import { DispatchMetrics } from './dispatch-metrics.interceptor.js';

@Controller()
@Allow('operator')
@UseInterceptors(DispatchMetrics)
export class SegmentController {
  constructor(
    private readonly assignment: SegmentAssignment,
    private readonly reports: SegmentReports,
    private readonly renewals: WorkerRenewals,
    private readonly streams: Streams,
  ) {}

  @MessagePattern(pattern.segmentAcquire)
  acquire(
    @Caller() caller: Principal,
    @Payload({ schema: SegmentAcquire }) message: SegmentAcquire,
    @Ctx() context: BaseRpcContext,
  ) {
    const claim = (over: AbortSignal) => this.assignment.acquire(caller, message, over);
    return this.streams.wait(caller.keyId, hungUp(context), claim);
  }

  @MessagePattern(pattern.segmentJoin)
  join(@Caller() caller: Principal, @Payload({ schema: SegmentJoin }) message: SegmentJoin) {
    return this.reports.join(caller, message);
  }

  @MessagePattern(pattern.segmentRenewed)
  renewed(@Caller() caller: Principal, @Payload({ schema: SegmentRenewed }) message: SegmentRenewed) {
    return this.renewals.renewed(caller, message);
  }

  @MessagePattern(pattern.segmentProgress)
  progress(@Caller() caller: Principal, @Payload({ schema: SegmentProgress }) message: SegmentProgress) {
    return this.reports.progress(caller, message);
  }

  @MessagePattern(pattern.segmentDeliver)
  deliver(@Caller() caller: Principal, @Payload({ schema: SegmentDeliver }) message: SegmentDeliver) {
    return this.reports.deliver(caller, message);
  }

  @MessagePattern(pattern.segmentFail)
  fail(@Caller() caller: Principal, @Payload({ schema: SegmentFail }) message: SegmentFail) {
    return this.reports.fail(caller, message);
  }
}
