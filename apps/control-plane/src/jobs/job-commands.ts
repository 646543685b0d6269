/** What a client or an administrator may ask of a job that was submitted: cancel, pause, resume, retry, reorder. */
import { Injectable } from '@nestjs/common';
import { DataSource, IsNull, type EntityManager } from 'typeorm';
import { Dataset, Job, Lease } from '#libs/persistence';
import type { Cause } from '../core/audit/audit-log.js';
import { isGlobal, seesTenant, type Principal } from '../core/auth/principal.js';
import { OutboxRelay } from '../core/events/outbox-relay.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { EscrowProjection } from './escrow-projection.js';
import { jobView, type JobView } from './job.view.js';
import { JobJournal, unknownJob } from './journal.js';

const rule = 'apps/control-plane/README.md, job states';
/** A client's own order among its jobs starts here; what is ahead of it is for administrators. */
const clientPriorityMin = 5;
const liveEscrows = ['none', 'open', 'accepted', 'started'];

@Injectable()
export class JobCommands {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
  ) {}

  /** Asking again for what is already cancelled is not a fault. @throws Rejection JOB_UNKNOWN, JOB_STATE */
  cancel(principal: Principal, id: string): Promise<JobView> {
    return this.command(principal, id, async (manager, job) => {
      if (job.state === 'cancelled') return;
      demandNotStarted(job);
      await this.takeAway(manager, job, 'cancel', causeOf(principal, 'CANCELLED'));
    });
  }

  /**
   * Takes the job from its node, keeps its checkpoints, and gives it to nobody until it is resumed. Its deadlines go on.
   * Once the provider is at work on chain its stake is at risk, so that only an administrator of every tenant pauses then.
   */
  pause(principal: Principal, id: string): Promise<JobView> {
    return this.command(principal, id, async (manager, job) => {
      if (job.state === 'paused') return;
      if (!isGlobal(principal)) demandNotStarted(job);
      await this.takeAway(manager, job, 'pause', causeOf(principal, 'PAUSED'));
    });
  }

  resume(principal: Principal, id: string): Promise<JobView> {
    return this.command(principal, id, async (manager, job) => {
      if (job.state === 'submitted') return;
      await this.journal.apply(manager, job, 'resume', causeOf(principal), { notBefore: null });
    });
  }

  /** Puts a job that failed or was refused back into the queue with all its attempts, while its escrow still lives. */
  retry(principal: Principal, id: string): Promise<JobView> {
    return this.command(principal, id, async (manager, job) => {
      if (job.state === 'submitted') return;
      if (!liveEscrows.includes(job.escrowState) || job.deadlineAt <= this.clock.now()) {
        const got = `an escrow that is ${job.escrowState}, deadline ${job.deadlineAt.toISOString()}`;
        const action = 'Submit the job again, with another salt and an escrow of its own.';
        throw refusal('JOB_STATE', { expected: 'an escrow that can still pay for the job', got, rule, action });
      }
      await this.checkDataset(manager, job);
      await this.journal.apply(manager, job, 'retry', causeOf(principal), { attempt: 1, setbacks: 0, notBefore: null });
    });
  }

  /** @param priority  0 to 9, 0 first. @throws Rejection JOB_PRIORITY */
  reorder(principal: Principal, id: string, priority: number): Promise<JobView> {
    checkPriority(principal, priority);
    return this.command(principal, id, async (manager, job) => {
      if (job.priority === priority) return;
      job.priority = priority;
      await manager.update(Job, { id: job.id }, { priority, updatedAt: this.clock.now() });
      await this.journal.audit(manager, causeOf(principal), 'job.reorder', job.id);
    });
  }

  private async checkDataset(manager: EntityManager, { datasetId }: Job): Promise<void> {
    const where = { id: datasetId, deletedAt: IsNull() };
    const dataset = await manager.findOne(Dataset, { where, select: { id: true }, lock: { mode: 'pessimistic_read' } });
    if (dataset === null) {
      const action = 'Register the data set again.';
      throw refusal('JOB_STATE', { expected: 'a job whose data set is there', got: 'a deleted one', rule, action });
    }
  }

  private async takeAway(manager: EntityManager, job: Job, trigger: 'cancel' | 'pause', cause: Cause): Promise<void> {
    const { leaseId } = job;
    await this.journal.apply(manager, job, trigger, cause, { leaseId: null });
    if (leaseId === null) return;
    const ended = { state: 'cancelled' as const, endedAt: this.clock.now(), endCode: cause.code ?? null };
    await manager.update(Lease, { id: leaseId, state: 'active' }, ended);
  }

  private async command(
    principal: Principal,
    id: string,
    change: (manager: EntityManager, job: Job) => Promise<void>,
  ): Promise<JobView> {
    const job = await this.database.transaction(async (manager) => {
      const found = await manager.findOneBy(Job, { id });
      if (found === null || !seesTenant(principal, found.tenant)) throw unknownJob();
      const locked = await this.journal.lock(manager, id);
      await change(manager, locked);
      await this.projection.project(manager, locked);
      return locked;
    });
    this.relay.kick();
    return jobView(job);
  }
}

/** @throws Rejection JOB_PRIORITY when the priority is kept for administrators */
export function checkPriority(principal: Principal, priority: number): void {
  if (isGlobal(principal) || priority >= clientPriorityMin) return;
  throw refusal('JOB_PRIORITY', {
    expected: `a priority from ${clientPriorityMin} to 9`,
    got: String(priority),
    rule: 'apps/control-plane/README.md, scheduling',
    action: 'Ask the operator of the control plane for a place ahead of other clients.',
  });
}

function causeOf({ role, keyId, tenant }: Principal, what?: 'CANCELLED' | 'PAUSED'): Cause {
  const by = { actor: keyId, tenant };
  return what === undefined ? by : { ...by, code: `${what}_BY_${role === 'admin' ? 'ADMIN' : 'CLIENT'}` };
}

/** Once the provider is at work on chain, only the chain ends the job: the client would pay for what is thrown away. */
function demandNotStarted({ escrowState }: Job): void {
  if (escrowState !== 'started' && escrowState !== 'committed') return;
  throw refusal('JOB_STATE', {
    expected: 'a job whose escrow has not started',
    got: `an escrow that is ${escrowState}`,
    rule,
    action: 'Wait until the escrow has ended.',
  });
}
