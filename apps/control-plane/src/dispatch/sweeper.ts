/** Ends what time has overtaken: leases without heartbeat, escrows nobody accepted, jobs past their deadline. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, In, LessThan } from 'typeorm';
import { Job, Lease } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { OutboxRelay } from '../events/outbox-relay.js';
import { Periodic } from '../events/periodic.js';
import { IdempotencyInterceptor } from '../idempotency/idempotency.interceptor.js';
import { JobJournal, systemCause } from '../jobs/journal.js';
import { leasedStates } from '../jobs/state-machine.js';
import { CONFIG, LOGGER, METRICS } from '../tokens.js';
import { LeaseBook } from './lease-book.js';

const sweepMilliseconds = 1000;
const batchSize = 100;

@Injectable()
export class Sweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  /** Leases are left alone for one lease time after a start: nodes could not reach us while we were away. */
  #leasesFrom = 0;

  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly leases: LeaseBook,
    private readonly idempotency: IdempotencyInterceptor,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Periodic('sweeper', sweepMilliseconds, () => this.sweep(), logger);
  }

  onApplicationBootstrap(): void {
    this.#leasesFrom = this.clock.now().getTime() + 1000 * this.config.leaseSeconds;
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  async sweep(): Promise<void> {
    const now = this.clock.now();
    const { manager } = this.database;
    if (now.getTime() >= this.#leasesFrom) {
      const where = { state: 'active' as const, expiresAt: LessThan(now) };
      for (const { id } of await manager.find(Lease, { where, take: batchSize })) await this.expireLease(id, now);
    }
    const late = { state: In(['submitted', ...leasedStates]), deadlineAt: LessThan(now) };
    for (const { id } of await manager.find(Job, { where: late, take: batchSize })) await this.expireJob(id, now);
    const unaccepted = { state: 'submitted', escrowState: In(['none', 'open']), acceptByAt: LessThan(now) };
    for (const { id } of await manager.find(Job, { where: unaccepted, take: batchSize })) await this.expireJob(id, now);
    await this.idempotency.forgetOld();
  }

  private async expireLease(id: string, now: Date): Promise<void> {
    await this.database.transaction(async (manager) => {
      const { jobId } = await manager.findOneByOrFail(Lease, { id });
      const job = await this.journal.lock(manager, jobId);
      const lease = await manager.findOneByOrFail(Lease, { id });
      if (lease.state !== 'active' || lease.expiresAt >= now) return;
      const reason = { nodeId: lease.nodeId, expiresAt: lease.expiresAt.toISOString() };
      const ending = { state: 'expired', retry: true, code: 'LEASE_EXPIRED', reason } as const;
      await this.leases.end({ manager, job, lease }, ending, systemCause());
      this.metrics.leasesExpired.inc();
    });
    this.relay.kick();
  }

  private async expireJob(id: string, now: Date): Promise<void> {
    await this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, id);
      const isOpen = job.state === 'submitted' || leasedStates.some((state) => state === job.state);
      const isUnaccepted =
        job.state === 'submitted' && ['none', 'open'].includes(job.escrowState) && job.acceptByAt < now;
      if (!isOpen || !(job.deadlineAt < now || isUnaccepted)) return;
      const code = job.deadlineAt < now ? 'JOB_DEADLINE' : 'JOB_NOT_ACCEPTED';
      const { leaseId } = job;
      await this.journal.apply(manager, job, 'expire', systemCause(code), { leaseId: null });
      if (leaseId !== null) {
        await this.leases.close(manager, await manager.findOneByOrFail(Lease, { id: leaseId }), 'cancelled', code);
      }
    });
    this.relay.kick();
  }
}
