/** Everything the control plane consists of, put together in one place. */
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { GraphQLModule } from '@nestjs/graphql';
import { DataSource } from 'typeorm';
import { verifyBundledProofUnder } from '#libs/proof';
import type { ChainReader } from '#libs/settlement';
import type { Logger, Metrics } from '#libs/telemetry';
import { AuditChain } from './audit/audit-chain.js';
import { AuditController } from './audit/audit.controller.js';
import { ApiKeys } from './auth/api-keys.js';
import { Denials } from './auth/denials.js';
import { KeyWatch } from './auth/key-watch.js';
import { KeysController } from './auth/keys.controller.js';
import { AuthGuard } from './auth/auth.guard.js';
import { AddressRateGuard, KeyRateGuard } from './auth/rate.guard.js';
import { Batches } from './batches.js';
import { Bodies } from './body.js';
import { BodyGuard } from './body.guard.js';
import { Clock } from './clock.js';
import type { Config } from './config.js';
import { BlobsController } from './datasets/blobs.controller.js';
import { DatasetsController } from './datasets/datasets.controller.js';
import { DatasetCache } from './datasets/dataset-cache.js';
import { DatasetRemoval } from './datasets/dataset-removal.js';
import { Datasets } from './datasets/datasets.service.js';
import { Assignment } from './dispatch/assignment.js';
import { DispatchController } from './dispatch/dispatch.controller.js';
import { Heartbeats } from './dispatch/heartbeats.js';
import { JobQueue } from './dispatch/job-queue.js';
import { LeaseStore } from './dispatch/lease-store.js';
import { LeaseRestores } from './dispatch/lease-restore.js';
import { ProofStore } from './dispatch/proof-store.js';
import { ProofController } from './dispatch/proof.controller.js';
import { ProofReports } from './dispatch/proof-reports.js';
import { RenewalReports } from './dispatch/renewal-reports.js';
import { SegmentAssignment } from './dispatch/segment-assignment.js';
import { SegmentStore } from './dispatch/segment-store.js';
import { SegmentController } from './dispatch/segment.controller.js';
import { SegmentReports } from './dispatch/segment-reports.js';
import { WorkerRenewals } from './dispatch/worker-renewals.js';
import { SessionReports } from './dispatch/session-reports.js';
import { SessionJudge } from './evidence/session-judge.js';
import { Sweeper } from './dispatch/sweeper.js';
import { TrainingReports } from './dispatch/training-reports.js';
import { WaitingNodes } from './dispatch/waiting-nodes.js';
import { Bus } from './events/bus.js';
import { BlobStore } from './objects/blob-store.js';
import { BlobCollector } from './objects/collector.js';
import { EventTail } from './events/event-tail.js';
import { OutboxRelay } from './events/outbox-relay.js';
import { Signals } from './events/signals.js';
import { BundleAssembly } from './evidence/bundle-assembly.js';
import type { EvidenceAppraiser } from './evidence/evidence-appraiser.js';
import { graphqlOptions } from './graphql.js';
import { GraphqlGate } from './graphql-gate.js';
import { HealthController } from './health/health.controller.js';
import { IdempotencyInterceptor } from './idempotency/idempotency.interceptor.js';
import { JobCommands } from './jobs/job-commands.js';
import { JobJournal } from './jobs/journal.js';
import { JobStream } from './jobs/job-stream.js';
import { JobsController } from './jobs/jobs.controller.js';
import { JobsResolver } from './jobs/jobs.resolver.js';
import { Jobs } from './jobs/jobs.service.js';
import { Quotas } from './jobs/quotas.js';
import { SubmissionBatch } from './jobs/submission-batch.js';
import { LocationInterceptor } from './location.interceptor.js';
import { NodesController } from './nodes/nodes.controller.js';
import { NodesResolver } from './nodes/nodes.resolver.js';
import { Nodes } from './nodes/nodes.service.js';
import { Presences } from './nodes/presences.js';
import type { ConnectionLimits } from './overload/connections.js';
import { DeadLetters } from './overload/dead-letters.js';
import { DeadLettersController } from './overload/dead-letters.controller.js';
import { ShedGuard, Shedding } from './overload/shedding.js';
import { Streams } from './overload/streams.js';
import { ProblemFilter } from './problem/problem.filter.js';
import { validationPipe } from './problem/validation.js';
import { EscrowController } from './settlement/escrow.controller.js';
import { EscrowEventStore } from './settlement/event-store.js';
import { EscrowProjection } from './settlement/escrow-projection.js';
import { EscrowResolver } from './settlement/escrow.resolver.js';
import { Escrows } from './settlement/escrows.js';
import { EscrowWatcher } from './settlement/watcher.js';
import { WebhookStore } from './webhooks/webhook-store.js';
import { WebhookDeliverer } from './webhooks/deliverer.js';
import { WebhooksController } from './webhooks/webhooks.controller.js';
import { ESCROW_READER, CONFIG, EVIDENCE_APPRAISER, LOGGER, METRICS, PROOF_VERIFIER } from './tokens.js';

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
const events = [AuditChain, Signals, Bus, OutboxRelay, EventTail];
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
