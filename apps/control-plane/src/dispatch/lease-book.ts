/** Who may act for a job: leases, their fencing numbers and their ends. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { LeaseRef } from '#libs/messaging';
import { Job, Lease, NodeRecord, type LeaseState } from '#libs/persistence';
import type { Principal } from '../auth/principal.js';
import { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { OutboxRelay } from '../events/outbox-relay.js';
import { JobJournal, type Cause } from '../jobs/journal.js';
import { Nodes } from '../nodes/nodes.service.js';
import { refusal } from '../problem/codes.js';
import { EscrowProjection } from '../settlement/escrow-projection.js';
import { CONFIG } from '../tokens.js';

export interface Held {
  readonly manager: EntityManager;
  readonly job: Job;
  readonly lease: Lease;
}

/** A lease that ends without a result, and whether the job may be tried again. */
export interface Ending {
  readonly state: Exclude<LeaseState, 'active' | 'done' | 'cancelled'>;
  readonly retry: boolean;
  readonly code: string;
  readonly reason: Record<string, unknown>;
}

@Injectable()
export class LeaseBook {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly nodes: Nodes,
    private readonly projection: EscrowProjection,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Gives the oldest job that this node can take, or null. */
  async grant(principal: Principal, node: NodeRecord): Promise<{ job: Job; lease: Lease } | null> {
    const granted = await this.database.transaction(async (manager) => {
      const job = await this.nextJob(manager, node);
      if (job === null) return null;
      const lease = this.newLease(principal, node, job);
      await manager.insert(Lease, lease as object);
      const changes = { fence: lease.fence, leaseId: lease.id };
      await this.journal.apply(manager, job, 'lease', actor(principal), changes);
      return { job, lease };
    });
    if (granted !== null) this.relay.kick();
    return granted;
  }

  /**
   * Runs `work` in one transaction while job and lease are locked and the lease is the job's newest.
   * @throws Rejection LEASE_UNKNOWN, LEASE_FENCED
   */
  async hold<T>(principal: Principal, ref: LeaseRef, work: (held: Held) => Promise<T>): Promise<T> {
    const result = await this.database.transaction(async (manager) => {
      const found = await manager.findOneBy(Lease, { id: ref.leaseId, tenant: principal.tenant });
      if (found === null) throw unknownLease(ref);
      const job = await this.journal.lock(manager, found.jobId);
      const lease = await manager.findOneByOrFail(Lease, { id: ref.leaseId });
      const isCurrent = lease.fence === ref.fence && job.fence === lease.fence;
      if (!isCurrent || (lease.state !== 'active' && lease.state !== 'done')) throw fenced(ref, job, lease);
      return work({ manager, job, lease });
    });
    this.relay.kick();
    return result;
  }

  /** Ends a lease without a result; the job goes back to the queue, or ends when it may not be tried again. */
  async end({ manager, job, lease }: Held, ending: Ending, cause: Pick<Cause, 'actor' | 'tenant'>): Promise<void> {
    const { state, code, reason } = ending;
    await this.close(manager, lease, state, code);
    const full = { ...cause, code, reason };
    const isBeforeKey = job.state === 'assigned' || job.state === 'attested';
    const mayRetry = ending.retry && job.attempt < this.config.attemptsMax;
    if (mayRetry) await this.journal.apply(manager, job, 'lose', full, { leaseId: null, attempt: job.attempt + 1 });
    else if (isBeforeKey && !ending.retry) await this.journal.apply(manager, job, 'refuse', full, { leaseId: null });
    else await this.journal.apply(manager, job, 'fail', full, { leaseId: null });
    await this.projection.project(manager, job);
  }

  async close(manager: EntityManager, lease: Lease, state: LeaseState, code: string | null): Promise<void> {
    const ended = { state, endedAt: this.clock.now(), endCode: code };
    Object.assign(lease, ended);
    await manager.update(Lease, { id: lease.id }, ended);
  }

  /** True while another node is there that could take the job and was not refused for it. */
  async hasOtherNode(manager: EntityManager, job: Job): Promise<boolean> {
    const query = manager
      .createQueryBuilder(NodeRecord, 'n')
      .where('n.last_seen_at > :since', { since: this.nodes.onlineSince() })
      .andWhere(notRefused, { jobId: job.id });
    if (job.provider !== zeroAddress) query.andWhere('n.provider = :provider', { provider: job.provider });
    if (job.assurance !== 'zk') query.andWhere(`n.capabilities ->> 'tee' <> 'none'`);
    return query.getExists();
  }

  private nextJob(manager: EntityManager, node: NodeRecord): Promise<Job | null> {
    const query = manager
      .createQueryBuilder(Job, 'j')
      .where(`j.state = 'submitted' AND j.funded`)
      .andWhere('j.provider IN (:...providers)', { providers: [zeroAddress, node.provider] })
      .andWhere('j.deadline_at > :now', { now: this.clock.now() })
      .andWhere(
        `NOT EXISTS (SELECT 1 FROM "lease" l WHERE l.job_id = j.id AND l.node_id = :nodeId AND l.state = 'refused')`,
        { nodeId: node.id },
      );
    if (node.capabilities['tee'] === 'none') query.andWhere(`j.assurance = 'zk'`);
    return query.orderBy('j.seq').limit(1).setLock('pessimistic_write').setOnLocked('skip_locked').getOne();
  }

  private newLease(principal: Principal, node: NodeRecord, job: Job): Lease {
    const now = this.clock.now();
    return Object.assign(new Lease(), {
      id: randomUUID(),
      jobId: job.id,
      nodeId: node.id,
      tenant: principal.tenant,
      attempt: job.attempt,
      fence: job.fence + 1,
      state: 'active',
      acquiredAt: now,
      expiresAt: new Date(now.getTime() + 1000 * this.config.leaseSeconds),
      endedAt: null,
      endCode: null,
    });
  }
}

const zeroAddress = `0x${'00'.repeat(20)}`;
const notRefused = `NOT EXISTS (SELECT 1 FROM "lease" l WHERE l.job_id = :jobId AND l.node_id = n.id AND l.state = 'refused')`;

export function actor(principal: Principal): Pick<Cause, 'actor' | 'tenant'> {
  return { actor: principal.keyId, tenant: principal.tenant };
}

function unknownLease(ref: LeaseRef) {
  return refusal('LEASE_UNKNOWN', {
    expected: 'a lease of this operator',
    got: ref.leaseId,
    rule: 'control-plane README, leases',
  });
}

function fenced(ref: LeaseRef, job: Job, lease: Lease) {
  return refusal('LEASE_FENCED', {
    expected: `the active lease of the job, fence ${job.fence}`,
    got: `fence ${ref.fence} of a lease that is ${lease.state}`,
    rule: 'control-plane README, leases',
    action: 'Stop working on this job; another lease has taken its place or it has ended.',
  });
}
