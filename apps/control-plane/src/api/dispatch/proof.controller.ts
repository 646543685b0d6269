/** The messages of provers, each checked against its schema before it gets here. */
import { Controller, UseInterceptors } from '@nestjs/common';
import { BaseRpcContext, Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { pattern, ProofAcquire, ProofDeliver, ProofFail, ProofProgress } from '#libs/wire';
import { Assignment } from '../../claims/assignment.js';
import { hungUp } from '../../core/auth/connection.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Streams } from '../../core/overload/streams.js';
import { ProofReports } from '../../reports/proof-reports.js';
import { DispatchMetrics } from './dispatch-metrics.interceptor.js';

@Controller()
@Allow('operator')
@UseInterceptors(DispatchMetrics)
export class ProofController {
  constructor(
    private readonly assignment: Assignment,
    private readonly reports: ProofReports,
    private readonly streams: Streams,
  ) {}

  @MessagePattern(pattern.proofAcquire)
  acquire(
    @Caller() caller: Principal,
    @Payload({ schema: ProofAcquire }) message: ProofAcquire,
    @Ctx() context: BaseRpcContext,
  ) {
    const claim = (over: AbortSignal) => this.assignment.acquireProof(caller, message, over);
    return this.streams.wait(caller.keyId, hungUp(context), claim);
  }

  @MessagePattern(pattern.proofProgress)
  progress(@Caller() caller: Principal, @Payload({ schema: ProofProgress }) message: ProofProgress) {
    return this.reports.progress(caller, message);
  }

  @MessagePattern(pattern.proofDeliver)
  deliver(@Caller() caller: Principal, @Payload({ schema: ProofDeliver }) message: ProofDeliver) {
    return this.reports.deliver(caller, message);
  }

  @MessagePattern(pattern.proofFail)
  fail(@Caller() caller: Principal, @Payload({ schema: ProofFail }) message: ProofFail) {
    return this.reports.fail(caller, message);
  }
}
