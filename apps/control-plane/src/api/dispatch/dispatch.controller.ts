/** The messages of nodes, each checked against its schema before it gets here. */
import { Controller, UseInterceptors } from '@nestjs/common';
import { BaseRpcContext, Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import {
  LeaseAcquire,
  LeaseAttested,
  LeaseCheckpoint,
  LeaseDeliver,
  LeaseEntrusted,
  LeaseEvaluation,
  LeaseFail,
  LeaseKeyed,
  LeaseProgress,
  LeaseRenewed,
  LeaseRestore,
  LeaseRunning,
  NodeHeartbeat,
  NodeRegister,
  pattern,
} from '#libs/wire';
import { Assignment } from '../../claims/assignment.js';
import { Heartbeats } from '../../claims/heartbeats.js';
import { hungUp } from '../../core/auth/connection.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Streams } from '../../core/overload/streams.js';
import { Nodes } from '../../nodes/nodes.service.js';
import { Presences } from '../../nodes/presences.js';
import { LeaseRestores } from '../../reports/lease-restore.js';
import { RenewalReports } from '../../reports/renewal-reports.js';
import { SessionReports } from '../../reports/session-reports.js';
import { TrainingReports } from '../../reports/training-reports.js';
import { DispatchMetrics } from './dispatch-metrics.interceptor.js';

@Controller()
@Allow('operator')
@UseInterceptors(DispatchMetrics)
export class DispatchController {
  constructor(
    private readonly nodes: Nodes,
    private readonly presences: Presences,
    private readonly heartbeats: Heartbeats,
    private readonly assignment: Assignment,
    private readonly session: SessionReports,
    private readonly renewals: RenewalReports,
    private readonly restores: LeaseRestores,
    private readonly training: TrainingReports,
    private readonly streams: Streams,
  ) {}

  @MessagePattern(pattern.nodeRegister)
  register(@Caller() caller: Principal, @Payload({ schema: NodeRegister }) message: NodeRegister) {
    return this.nodes.register(caller, message);
  }

  @MessagePattern(pattern.nodeHeartbeat)
  async heartbeat(@Caller() caller: Principal, @Payload({ schema: NodeHeartbeat }) message: NodeHeartbeat) {
    await this.presences.of(caller, message.nodeId);
    return this.heartbeats.beat(message.nodeId, message.leases);
  }

  @MessagePattern(pattern.leaseAcquire)
  acquire(
    @Caller() caller: Principal,
    @Payload({ schema: LeaseAcquire }) message: LeaseAcquire,
    @Ctx() context: BaseRpcContext,
  ) {
    const { nodeId, waitMs, holding } = message;
    return this.streams.wait(caller.keyId, hungUp(context), (over) =>
      this.assignment.acquire(caller, nodeId, waitMs, holding, over),
    );
  }

  @MessagePattern(pattern.leaseAttested)
  attested(@Caller() caller: Principal, @Payload({ schema: LeaseAttested }) message: LeaseAttested) {
    return this.session.attested(caller, message);
  }

  @MessagePattern(pattern.leaseKeyed)
  keyed(@Caller() caller: Principal, @Payload({ schema: LeaseKeyed }) message: LeaseKeyed) {
    return this.session.keyed(caller, message);
  }

  @MessagePattern(pattern.leaseRenewed)
  renewed(@Caller() caller: Principal, @Payload({ schema: LeaseRenewed }) message: LeaseRenewed) {
    return this.renewals.renewed(caller, message);
  }

  @MessagePattern(pattern.leaseRestore)
  restore(@Caller() caller: Principal, @Payload({ schema: LeaseRestore }) message: LeaseRestore) {
    return this.restores.restore(caller, message);
  }

  @MessagePattern(pattern.leaseEntrusted)
  entrusted(@Caller() caller: Principal, @Payload({ schema: LeaseEntrusted }) message: LeaseEntrusted) {
    return this.session.entrusted(caller, message);
  }

  @MessagePattern(pattern.leaseRunning)
  running(@Caller() caller: Principal, @Payload({ schema: LeaseRunning }) message: LeaseRunning) {
    return this.session.running(caller, message);
  }

  @MessagePattern(pattern.leaseProgress)
  progress(@Caller() caller: Principal, @Payload({ schema: LeaseProgress }) message: LeaseProgress) {
    return this.session.progress(caller, message);
  }

  @MessagePattern(pattern.leaseEvaluation)
  evaluation(@Caller() caller: Principal, @Payload({ schema: LeaseEvaluation }) message: LeaseEvaluation) {
    return this.session.evaluation(caller, message);
  }

  @MessagePattern(pattern.leaseCheckpoint)
  checkpoint(@Caller() caller: Principal, @Payload({ schema: LeaseCheckpoint }) message: LeaseCheckpoint) {
    return this.training.checkpoint(caller, message);
  }

  @MessagePattern(pattern.leaseDeliver)
  deliver(@Caller() caller: Principal, @Payload({ schema: LeaseDeliver }) message: LeaseDeliver) {
    return this.training.deliver(caller, message);
  }

  @MessagePattern(pattern.leaseFail)
  fail(@Caller() caller: Principal, @Payload({ schema: LeaseFail }) message: LeaseFail) {
    return this.session.fail(caller, message);
  }
}
