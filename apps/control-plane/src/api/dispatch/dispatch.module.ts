/** Dispatch: what nodes ask and report, over TCP or NATS. */
import { Module } from '@nestjs/common';
import { ClaimsModule } from '../../claims/claims.module.js';
import { NodesModule } from '../../nodes/nodes.module.js';
import { ReportsModule } from '../../reports/reports.module.js';
import { DispatchController } from './dispatch.controller.js';
import { ProofController } from './proof.controller.js';
import { SegmentController } from './segment.controller.js';

@Module({
  imports: [ClaimsModule, NodesModule, ReportsModule],
  controllers: [DispatchController, ProofController, SegmentController],
})
export class DispatchModule {}
