/** Everything the control plane consists of, put together in one place. */
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { DataSource } from 'typeorm';
import { verifyBundledProofUnder } from '#libs/proof';
import type { ChainReader } from '#libs/settlement';
import type { Logger, Metrics } from '#libs/telemetry';
import { DispatchController } from './api/dispatch/dispatch.controller.js';
import { ProofController } from './api/dispatch/proof.controller.js';
import { SegmentController } from './api/dispatch/segment.controller.js';
import { EscrowResolver } from './api/graphql/escrow.resolver.js';
import { GraphqlGate } from './api/graphql/graphql-gate.js';
import { graphqlOptions } from './api/graphql/graphql.js';
import { JobsResolver } from './api/graphql/jobs.resolver.js';
import { NodesResolver } from './api/graphql/nodes.resolver.js';
import { ProblemFilter } from './api/problem.filter.js';
import { AuditController } from './api/rest/audit.controller.js';
import { BlobsController } from './api/rest/blobs.controller.js';
import { DatasetsController } from './api/rest/datasets.controller.js';
import { DeadLettersController } from './api/rest/dead-letters.controller.js';
import { EscrowController } from './api/rest/escrow.controller.js';
import { HealthController } from './api/rest/health.controller.js';
import { JobsController } from './api/rest/jobs.controller.js';
import { KeysController } from './api/rest/keys.controller.js';
import { LocationInterceptor } from './api/rest/location.interceptor.js';
import { NodesController } from './api/rest/nodes.controller.js';
import { WebhooksController } from './api/rest/webhooks.controller.js';
import { Assignment } from './claims/assignment.js';
import { Heartbeats } from './claims/heartbeats.js';
import { LeaseStore } from './claims/lease-store.js';
import { ProofStore } from './claims/proof-store.js';
import { SegmentAssignment } from './claims/segment-assignment.js';
import { SegmentStore } from './claims/segment-store.js';
import { Sweeper } from './claims/sweeper.js';
import { WaitingNodes } from './claims/waiting-nodes.js';
import { AuditChain } from './core/audit/audit-chain.js';
import { AuditLog } from './core/audit/audit-log.js';
import { ApiKeys } from './core/auth/api-keys.js';
import { AuthGuard } from './core/auth/auth.guard.js';
import { Denials } from './core/auth/denials.js';
import { KeyWatch } from './core/auth/key-watch.js';
import { AddressRateGuard, KeyRateGuard } from './core/auth/rate.guard.js';
import type { Config } from './core/config/config.js';
import { ESCROW_READER, CONFIG, EVIDENCE_APPRAISER, LOGGER, METRICS, PROOF_VERIFIER } from './core/config/tokens.js';
import { Bus } from './core/events/bus.js';
import { DeadLetters } from './core/events/dead-letters.js';
import { EventTail } from './core/events/event-tail.js';
import { OutboxRelay } from './core/events/outbox-relay.js';
import { IdempotencyInterceptor } from './core/idempotency/idempotency.interceptor.js';
import { BlobStore } from './core/objects/blob-store.js';
import { BlobCollector } from './core/objects/collector.js';
import { BodyGuard } from './core/overload/body.guard.js';
import { Bodies } from './core/overload/body.js';
import type { ConnectionLimits } from './core/overload/connections.js';
import { ShedGuard, Shedding } from './core/overload/shedding.js';
import { Streams } from './core/overload/streams.js';
import { validationPipe } from './core/problem/validation.js';
import { Batches } from './core/timing/batches.js';
import { Clock } from './core/timing/clock.js';
import { Signals } from './core/timing/signals.js';
import { DatasetCache } from './data/dataset-cache.js';
import { Datasets } from './data/datasets.service.js';
import { BundleAssembly } from './evidence/bundle-assembly.js';
import type { EvidenceAppraiser } from './evidence/evidence-appraiser.js';
import { SessionJudge } from './evidence/session-judge.js';
import { DatasetRemoval } from './jobs/dataset-removal.js';
import { EscrowProjection } from './jobs/escrow-projection.js';
import { JobCommands } from './jobs/job-commands.js';
import { JobQueue } from './jobs/job-queue.js';
import { JobStream } from './jobs/job-stream.js';
import { Jobs } from './jobs/jobs.service.js';
import { JobJournal } from './jobs/journal.js';
import { Quotas } from './jobs/quotas.js';
import { SubmissionBatch } from './jobs/submission-batch.js';
import { Nodes } from './nodes/nodes.service.js';
import { Presences } from './nodes/presences.js';
import { LeaseRestores } from './reports/lease-restore.js';
import { ProofReports } from './reports/proof-reports.js';
import { RenewalReports } from './reports/renewal-reports.js';
import { SegmentReports } from './reports/segment-reports.js';
import { SessionReports } from './reports/session-reports.js';
import { TrainingReports } from './reports/training-reports.js';
import { WorkerRenewals } from './reports/worker-renewals.js';
import { Escrows } from './settlement/escrows.js';
import { EscrowEventStore } from './settlement/event-store.js';
import { EscrowWatcher } from './settlement/watcher.js';
import { WebhookDeliverer } from './webhooks/deliverer.js';
import { WebhookStore } from './webhooks/webhook-store.js';

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

const global = [
  { provide: APP_GUARD, useClass: ShedGuard },
  { provide: APP_GUARD, useClass: AddressRateGuard },
  { provide: APP_GUARD, useClass: AuthGuard },
  { provide: APP_GUARD, useClass: KeyRateGuard },
  { provide: APP_GUARD, useClass: BodyGuard },
  // Again: what is shed by its priority says so in its body.
  { provide: APP_GUARD, useClass: ShedGuard },
  { provide: APP_FILTER, useClass: ProblemFilter },
  { provide: APP_PIPE, useValue: validationPipe },
  { provide: APP_INTERCEPTOR, useClass: LocationInterceptor },
  IdempotencyInterceptor,
  { provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor },
];
const auth = [ApiKeys, Batches, Bodies, Denials, GraphqlGate, KeyWatch];
const datasets = [BlobStore, BlobCollector, DatasetCache, DatasetRemoval, Datasets];
const nodes = [Nodes, Presences, NodesResolver];
const jobs = [JobCommands, JobJournal, Jobs, Quotas, JobStream, SubmissionBatch, JobsResolver];
const events = [AuditChain, AuditLog, Signals, Bus, OutboxRelay, EventTail];
const overload = [DeadLetters, Shedding, Streams];
const dispatch = [
  Assignment,
  Heartbeats,
  JobQueue,
  LeaseStore,
  LeaseRestores,
  SessionReports,
  SessionJudge,
  Sweeper,
  TrainingReports,
  WaitingNodes,
];
const proving = [ProofStore, ProofReports];
const rounds = [SegmentAssignment, SegmentStore, SegmentReports, WorkerRenewals];
const evidence = [BundleAssembly, RenewalReports];
const webhooks = [WebhookStore, WebhookDeliverer];
const settlement = [Escrows, EscrowEventStore, EscrowProjection, EscrowResolver, EscrowWatcher];

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
      // The spec names one Groth16 key: how it was made is for those to judge who rely on it, client, contract and readers.
      { provide: PROOF_VERIFIER, useValue: verifyBundledProofUnder({ takesDevelopmentKeys: true }) },
    ];
    return {
      module: AppModule,
      imports: [GraphQLModule.forRoot(graphqlOptions(parts.schemaFile, parts.config.trustProxy))],
      controllers: [
        JobsController,
        EscrowController,
        DatasetsController,
        BlobsController,
        NodesController,
        KeysController,
        HealthController,
        AuditController,
        DeadLettersController,
        WebhooksController,
        DispatchController,
        ProofController,
        SegmentController,
      ],
      providers: [
        ...values,
        ...global,
        ...auth,
        ...datasets,
        ...nodes,
        ...jobs,
        ...events,
        ...overload,
        ...dispatch,
        ...proving,
        ...rounds,
        ...evidence,
        ...settlement,
        ...webhooks,
      ],
    };
  }
}
