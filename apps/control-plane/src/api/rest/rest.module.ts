/** REST: one controller for each kind of thing. */
import { Module } from '@nestjs/common';
import { DataModule } from '../../data/data.module.js';
import { EvidenceModule } from '../../evidence/evidence.module.js';
import { JobsModule } from '../../jobs/jobs.module.js';
import { NodesModule } from '../../nodes/nodes.module.js';
import { SettlementModule } from '../../settlement/settlement.module.js';
import { WebhooksModule } from '../../webhooks/webhooks.module.js';
import { AuditController } from './audit.controller.js';
import { BlobsController } from './blobs.controller.js';
import { DatasetsController } from './datasets.controller.js';
import { DeadLettersController } from './dead-letters.controller.js';
import { EarningsController } from './earnings.controller.js';
import { EscrowController } from './escrow.controller.js';
import { EventsController } from './events.controller.js';
import { HealthController } from './health.controller.js';
import { JobsController } from './jobs.controller.js';
import { KeysController } from './keys.controller.js';
import { LogController } from './log.controller.js';
import { MeController } from './me.controller.js';
import { NodesController } from './nodes.controller.js';
import { TenantsController } from './tenants.controller.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({
  imports: [DataModule, EvidenceModule, JobsModule, NodesModule, SettlementModule, WebhooksModule],
  controllers: [
    AuditController,
    BlobsController,
    DatasetsController,
    DeadLettersController,
    EarningsController,
    EscrowController,
    EventsController,
    HealthController,
    JobsController,
    KeysController,
    LogController,
    MeController,
    NodesController,
    TenantsController,
    WebhooksController,
  ],
})
export class RestModule {}
