/** Ends what time has overtaken: leases without heartbeat or with a lapsed attestation, escrows nobody accepted, jobs past their deadline. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, In, LessThan } from 'typeorm';
import { Job, Lease } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import type { Config } from '../core/config/config.js';
import { CONFIG, LOGGER, METRICS } from '../core/config/tokens.js';
import { OutboxRelay } from '../core/events/outbox-relay.js';
import { IdempotencyInterceptor } from '../core/idempotency/idempotency.interceptor.js';
import { Clock } from '../core/timing/clock.js';
import { Periodic } from '../core/timing/periodic.js';
import { JobJournal, systemCause } from '../jobs/journal.js';
import { attestedStates, leasedStates, waitingStates, type JobState } from '../jobs/state-machine.js';
import { LeaseStore } from './lease-store.js';

const sweepMilliseconds = 1000;
const batchSize = 100;
const absentMilliseconds = 5000;

@Injectable()
export class Sweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  /** Leases are left alone for one lease time after an absence: nodes could not reach us while we were away. */
  #leasesFrom = 0;
  /** Monotonic milliseconds of the last sweep that came to its end. */
  #sweptAt = 0;

  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly leases: LeaseStore,
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
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  async sweep(): Promise<void> {
    const now = this.clock.now();
    this.forgiveAbsence(now);
    const { manager } = this.database;
    if (now.getTime() >= this.#leasesFrom) {
      const where = { state: 'active' as const, expiresAt: LessThan(now) };
      for (const { id } of await manager.find(Lease, { where, take: batchSize })) await this.expireLease(id, now);
      const lapsed = { state: In([...attestedStates]), attestedUntil: LessThan(now) };
      for (const { id } of await manager.find(Job, { where: lapsed, take: batchSize })) await this.lapse(id, now);
    }
    const late = { state: In([...waitingStates, ...leasedStates]), deadlineAt: LessThan(now) };
    for (const { id } of await manager.find(Job, { where: late, take: batchSize })) await this.expireJob(id, now);
    const unaccepted = { state: In([...waitingStates]), escrowState: In(['none', 'open']), acceptByAt: LessThan(now) };
    for (const { id } of await manager.find(Job, { where: unaccepted, take: batchSize })) await this.expireJob(id, now);
    await this.idempotency.forgetOld();
    this.#sweptAt = this.clock.monotonic();
  }

  /** Not yet started, stopped for a while, or without the database. */
  private forgiveAbsence(now: Date): void {
    const leaseMs = 1000 * this.config.leaseSeconds;
    const isBack =
      this.#sweptAt === 0 || this.clock.monotonic() - this.#sweptAt > Math.max(absentMilliseconds, leaseMs / 2);
    if (isBack) this.#leasesFrom = now.getTime() + leaseMs;
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

  /** No renewal came in time: whatever the node still does, it does without an attestation. */
  private async lapse(jobId: string, now: Date): Promise<void> {
    await this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, jobId);
      const until = job.attestedUntil;
      const isAttested = (attestedStates as readonly JobState[]).includes(job.state as JobState);
      if (!isAttested || until === null || until >= now || job.leaseId === null) return;
      const lease = await manager.findOneByOrFail(Lease, { id: job.leaseId });
      const reason = { nodeId: lease.nodeId, attestedUntil: until.toISOString() };
      const ending = { state: 'expired', retry: true, code: 'ATTESTATION_LAPSED', reason } as const;
      await this.leases.end({ manager, job, lease }, ending, systemCause());
      this.metrics.attestationsLapsed.inc();
    });
    this.relay.kick();
  }

  private async expireJob(id: string, now: Date): Promise<void> {
    await this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, id);
      const isWaiting = (waitingStates as readonly JobState[]).includes(job.state as JobState);
      const isOpen = isWaiting || (leasedStates as readonly JobState[]).includes(job.state as JobState);
      const isUnaccepted = isWaiting && ['none', 'open'].includes(job.escrowState) && job.acceptByAt < now;
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
