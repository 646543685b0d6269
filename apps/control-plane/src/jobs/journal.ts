/** Changes a job's state: row, event, outbox message and audit entry in the caller's transaction. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Job, JobEvent, OutboxMessage } from '#libs/persistence';
import { marked, type Metrics } from '#libs/telemetry';
import { AuditLog, type Cause } from '../core/audit/audit-log.js';
import { METRICS } from '../core/config/tokens.js';
import { LogOutbox } from '../core/events/log-outbox.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { enqueueWebhooks } from '../webhooks/webhook-store.js';
import { nextState, transitions, type JobState, type JobTrigger } from './state-machine.js';

/** A change of a job's state, worked out and not yet written. */
interface Step {
  readonly job: Job;
  readonly trigger: JobTrigger;
  readonly cause: Cause;
  readonly to: JobState;
  readonly at: Date;
  readonly update: Partial<Job>;
  readonly data: Record<string, unknown>;
}

export interface Announcement {
  readonly topic: string;
  readonly subject: string;
  readonly data: Record<string, unknown>;
}

export const systemCause = (code?: string, reason?: Record<string, unknown>): Cause => ({
  actor: 'system',
  tenant: 'system',
  ...(code === undefined ? {} : { code }),
  ...(reason === undefined ? {} : { reason }),
});

@Injectable()
export class JobJournal extends AuditLog {
  constructor(
    clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
    private readonly log: LogOutbox,
  ) {
    super(clock);
  }

  /** @throws Rejection JOB_UNKNOWN */
  async lock(manager: EntityManager, jobId: string): Promise<Job> {
    const job = await manager.findOne(Job, { where: { id: jobId }, lock: { mode: 'pessimistic_write' } });
    if (job === null) throw unknownJob();
    return job;
  }

  /**
   * @param job  locked by this transaction; changed in place
   * @throws Rejection JOB_STATE
   */
  async apply(
    manager: EntityManager,
    job: Job,
    trigger: JobTrigger,
    cause: Cause,
    changes: Partial<Job> = {},
  ): Promise<void> {
    const step = this.step(job, trigger, cause, changes);
    await manager.update(Job, { id: job.id }, step.update as object);
    await this.tell(manager, [step]);
  }

  /**
   * What a change of state amounts to. Its row is still to be written, and `tell` to be called.
   * @param job  locked by this transaction; changed in place
   * @throws Rejection JOB_STATE
   */
  step(job: Job, trigger: JobTrigger, cause: Cause, changes: Partial<Job> = {}): Step {
    const from = job.state as JobState;
    const to = nextState(from, trigger);
    if (transitions[trigger].needsCode && cause.code === undefined) throw new Error(`${trigger} without a code`);
    const at = this.clock.now();
    const update = { ...changes, state: to, code: cause.code ?? null, reason: cause.reason ?? null, updatedAt: at };
    Object.assign(job, update);
    const data = { from, to, attempt: job.attempt, fence: job.fence, code: job.code, reason: job.reason };
    return { job, trigger, cause, to, at, update, data };
  }

  /** Event, outbox message, webhooks and audit entry of each step. */
  async tell(manager: EntityManager, steps: readonly Step[]): Promise<void> {
    await this.recordAll(
      manager,
      steps.map(({ job, data }) => ({ jobId: job.id, type: 'state', data })),
    );
    await this.announceAll(
      manager,
      steps.map(({ job, to, data }) => ({ topic: `job.${to}.v1`, subject: job.id, data })),
    );
    await enqueueWebhooks(manager, steps);
    const delivered = steps.filter(({ to }) => to === 'delivered');
    await this.log.bundles(
      manager,
      delivered.map(({ job }) => job.id),
    );
    await this.auditAll(
      manager,
      steps.map(({ job, trigger, cause }) => ({ cause, action: `job.${trigger}`, subject: job.id })),
    );
    for (const { job, trigger, to } of steps) {
      this.metrics.transitions.inc({ trigger, to });
      marked(`job ${to}`, job.id, { trigger, attempt: job.attempt, ...(job.code !== null && { code: job.code }) });
    }
  }

  /** A proof of a job came: its bundle, where it has one, is another. */
  async proved(manager: EntityManager, { id, state }: Job): Promise<void> {
    if (state === 'delivered' || state === 'settled') await this.log.bundles(manager, [id]);
  }

  /** Adds to the job's stream; the job's row must be locked so that ids follow commits. */
  record(manager: EntityManager, jobId: string, type: string, data: Record<string, unknown>): Promise<void> {
    return this.recordAll(manager, [{ jobId, type, data }]);
  }

  async recordAll(manager: EntityManager, events: readonly Pick<JobEvent, 'jobId' | 'type' | 'data'>[]): Promise<void> {
    const at = this.clock.now();
    await manager.insert(
      JobEvent,
      events.map(({ jobId, type, data }) => ({ jobId, type, data: data as object, at })),
    );
  }

  announce(manager: EntityManager, topic: string, subject: string, data: Record<string, unknown>): Promise<void> {
    return this.announceAll(manager, [{ topic, subject, data }]);
  }

  async announceAll(manager: EntityManager, messages: readonly Announcement[]): Promise<void> {
    const createdAt = this.clock.now();
    const rows = messages.map(({ topic, subject, data }) => ({ topic, subject, payload: data as object }));
    await manager.insert(
      OutboxMessage,
      rows.map((row) => ({ ...row, createdAt, publishedAt: null })),
    );
  }
}

export function unknownJob() {
  return refusal('JOB_UNKNOWN', {
    expected: 'a job of this tenant',
    got: 'no such job',
    rule: 'apps/control-plane/README.md, jobs',
    action: 'List the jobs that this key can see.',
  });
}
