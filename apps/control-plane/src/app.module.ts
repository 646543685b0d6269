/** Everything the control plane consists of, put together in one place. */
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { ThrottlerModule } from '@nestjs/throttler';
import { DataSource } from 'typeorm';
import type { Logger, Metrics } from '#libs/telemetry';
import { ApiKeys } from './auth/api-keys.js';
import { AuthGuard } from './auth/auth.guard.js';
import { AddressRateGuard, addressLimit, KeyRateGuard, keyLimit } from './auth/rate.guard.js';
import { Clock } from './clock.js';
import type { Config } from './config.js';
import { BlobStore } from './datasets/blob-store.js';
import { BlobsController } from './datasets/blobs.controller.js';
import { DatasetsController } from './datasets/datasets.controller.js';
import { Datasets } from './datasets/datasets.service.js';
import { Assignment } from './dispatch/assignment.js';
import { DispatchController } from './dispatch/dispatch.controller.js';
import { Heartbeats } from './dispatch/heartbeats.js';
import { LeaseBook } from './dispatch/lease-book.js';
import { SessionReports } from './dispatch/session-reports.js';
import { Sweeper } from './dispatch/sweeper.js';
import { TrainingReports } from './dispatch/training-reports.js';
import { OutboxRelay } from './events/outbox-relay.js';
import { Signals } from './events/signals.js';
import { BundleAssembly } from './evidence/bundle-assembly.js';
import type { EvidenceAppraiser } from './evidence/evidence-appraiser.js';
import { graphqlOptions } from './graphql.js';
import { AuditController } from './health/audit.controller.js';
import { HealthController } from './health/health.controller.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { JobJournal } from './jobs/journal.js';
import { JobStream } from './jobs/job-stream.js';
import { JobsController } from './jobs/jobs.controller.js';
import { JobsResolver } from './jobs/jobs.resolver.js';
import { Jobs } from './jobs/jobs.service.js';
import { NodesController } from './nodes/nodes.controller.js';
import { Nodes } from './nodes/nodes.service.js';
import { ProblemFilter } from './problem/problem.filter.js';
import { validationPipe } from './problem/validation.js';
import { EscrowProjection } from './settlement/escrow-projection.js';
import type { EscrowReader } from './settlement/escrow-reader.js';
import { EscrowWatcher } from './settlement/watcher.js';
import { CONFIG, ESCROW_READER, EVIDENCE_APPRAISER, LOGGER, METRICS } from './tokens.js';

export interface Parts {
  readonly config: Config;
  readonly dataSource: DataSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly escrowReader: EscrowReader;
  readonly appraiser: EvidenceAppraiser;
  /** Where to write the GraphQL schema; true: nowhere. */
  readonly schemaFile: string | true;
}

const global = [
  { provide: APP_GUARD, useClass: AddressRateGuard },
  { provide: APP_GUARD, useClass: AuthGuard },
  { provide: APP_GUARD, useClass: KeyRateGuard },
  { provide: APP_FILTER, useClass: ProblemFilter },
  { provide: APP_PIPE, useValue: validationPipe },
  IdempotencyInterceptor,
  { provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor },
];
const auth = [ApiKeys];
const datasets = [BlobStore, Datasets];
const nodes = [Nodes];
const jobs = [JobJournal, Jobs, JobStream, JobsResolver];
const events = [Signals, OutboxRelay];
const dispatch = [Assignment, Heartbeats, LeaseBook, SessionReports, Sweeper, TrainingReports];
const evidence = [BundleAssembly];
const settlement = [EscrowProjection, EscrowWatcher];

@Module({})
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
      imports: [
        ThrottlerModule.forRoot([
          { name: addressLimit, limit: parts.config.addressRequestsPerMinute, ttl: 60_000 },
          { name: keyLimit, limit: parts.config.requestsPerMinute, ttl: 60_000 },
        ]),
        GraphQLModule.forRoot(graphqlOptions(parts.schemaFile)),
      ],
      controllers: [
        JobsController,
        DatasetsController,
        BlobsController,
        NodesController,
        HealthController,
        AuditController,
        DispatchController,
      ],
      providers: [
        ...values,
        ...global,
        ...auth,
        ...datasets,
        ...nodes,
        ...jobs,
        ...events,
        ...dispatch,
        ...evidence,
        ...settlement,
      ],
    };
  }
}
