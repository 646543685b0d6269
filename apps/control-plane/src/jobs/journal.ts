/** Changes a job's state: row, event, outbox message and audit entry in the caller's transaction. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditEntry, Job, JobEvent, OutboxMessage } from '#libs/persistence';
import type { Metrics } from '#libs/telemetry';
import { Clock } from '../clock.js';
import { refusal } from '../problem/codes.js';
import { METRICS } from '../tokens.js';
import { nextState, transitions, type JobState, type JobTrigger } from './state-machine.js';

export interface Cause {
  /** API key id or `system`, and its tenant. */
  readonly actor: string;
  readonly tenant: string;
  /** Stable code; required for exits. */
  readonly code?: string;
  readonly reason?: Record<string, unknown>;
}

export const systemCause = (code?: string, reason?: Record<string, unknown>): Cause => ({
  actor: 'system',
  tenant: 'system',
  ...(code === undefined ? {} : { code }),
  ...(reason === undefined ? {} : { reason }),
});

@Injectable()
export class JobJournal {
  constructor(
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

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
    const from = job.state;
    const to = nextState(from as JobState, trigger);
    if (transitions[trigger].needsCode && cause.code === undefined) throw new Error(`${trigger} without a code`);
    const at = this.clock.now();
    const update = { ...changes, state: to, code: cause.code ?? null, reason: cause.reason ?? null, updatedAt: at };
    Object.assign(job, update);
    await manager.update(Job, { id: job.id }, update as object);
    const data = { from, to, attempt: job.attempt, fence: job.fence, code: job.code, reason: job.reason };
    await this.record(manager, job.id, 'state', data);
    await this.announce(manager, `job.${to}.v1`, job.id, data);
    await this.audit(manager, cause, `job.${trigger}`, job.id);
    this.metrics.transitions.inc({ trigger, to });
  }

  /** Adds to the job's stream; the job's row must be locked so that ids follow commits. */
  async record(manager: EntityManager, jobId: string, type: string, data: Record<string, unknown>): Promise<void> {
    await manager.insert(JobEvent, { jobId, type, data: data as object, at: this.clock.now() });
  }

  async announce(manager: EntityManager, topic: string, subject: string, data: Record<string, unknown>): Promise<void> {
    const row = { topic, subject, payload: data as object, createdAt: this.clock.now(), publishedAt: null };
    await manager.insert(OutboxMessage, row);
  }

  async audit(manager: EntityManager, cause: Cause, action: string, subject: string): Promise<void> {
    const { actor, tenant, code = null } = cause;
    await manager.insert(AuditEntry, { at: this.clock.now(), tenant, actor, action, subject, code });
  }
}

export function unknownJob() {
  return refusal('JOB_UNKNOWN', {
    expected: 'a job of this tenant',
    got: 'no such job',
    rule: 'control-plane README, jobs',
    action: 'List the jobs that this key can see.',
  });
}
