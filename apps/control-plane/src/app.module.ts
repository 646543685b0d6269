/** Everything the control plane consists of. */
import { Module, type DynamicModule } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { ChainReader } from '#libs/settlement';
import type { Logger, Metrics } from '#libs/telemetry';
import { ApiModule } from './api/api.module.js';
import { ClaimsModule } from './claims/claims.module.js';
import { ConfigModule } from './core/config/config.module.js';
import type { Config } from './core/config/config.js';
import { CONFIG, ESCROW_READER, EVIDENCE_APPRAISER, LOGGER, METRICS } from './core/config/tokens.js';
import { CoreModule } from './core/core.module.js';
import type { ConnectionLimits } from './core/overload/connections.js';
import { Clock } from './core/timing/clock.js';
import { DataModule } from './data/data.module.js';
import type { EvidenceAppraiser } from './evidence/evidence-appraiser.js';
import { EvidenceModule } from './evidence/evidence.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import { NodesModule } from './nodes/nodes.module.js';
import { ReportsModule } from './reports/reports.module.js';
import { SettlementModule } from './settlement/settlement.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

export interface Parts {
  readonly config: Config;
  readonly dataSource: DataSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly escrowReader: ChainReader;
  readonly appraiser: EvidenceAppraiser;
  /** How patient the process is with its connections. */
  readonly connections: ConnectionLimits;
  /** Where to write the GraphQL schema; true: nowhere. */
  readonly schemaFile: string | true;
}

@Module({
  imports: [
    CoreModule,
    JobsModule,
    ClaimsModule,
    ReportsModule,
    EvidenceModule,
    DataModule,
    NodesModule,
    SettlementModule,
    WebhooksModule,
  ],
})
export class AppModule {
  static of(parts: Parts): DynamicModule {
    const values = [
      { provide: CONFIG, useValue: parts.config },
      { provide: DataSource, useValue: parts.dataSource },
      { provide: LOGGER, useValue: parts.logger },
      { provide: METRICS, useValue: parts.metrics },
      { provide: Clock, useValue: parts.clock },
      { provide: ESCROW_READER, useValue: parts.escrowReader },
      { provide: EVIDENCE_APPRAISER, useValue: parts.appraiser },
    ];
    return {
      module: AppModule,
      imports: [ConfigModule.of(values), ApiModule.of(parts.schemaFile, parts.config.trustProxy)],
    };
  }
}
