/** Who may act for a job: leases, their fencing numbers and their ends. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager } from 'typeorm';
import { Job, Lease, type LeaseState, NodeRecord } from '#libs/persistence';
import type { LeaseRef } from '#libs/wire';
import type { Cause } from '../core/audit/audit-log.js';
import type { Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { OutboxRelay } from '../core/events/outbox-relay.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { JobQueue } from '../jobs/job-queue.js';
import { JobJournal } from '../jobs/journal.js';
import { expiryFrom } from './expiry.js';
import { Quotas } from '../jobs/quotas.js';
import { Nodes } from '../nodes/nodes.service.js';
import { assuranceOnLapse, lapseCodes } from './lapse.js';
import { isAway, setback } from './setbacks.js';

/** A node that asks for a job, and on whose behalf. */
export interface WaitingNode {
  readonly principal: Principal;
  readonly node: NodeRecord;
}

export interface Grant {
  readonly job: Job;
  readonly lease: Lease;
}

export interface Held {
  readonly manager: EntityManager;
  readonly job: Job;
  readonly lease: Lease;
}

/** A lease that ends without a result, and whether the job may be tried again. */
interface Ending {
  readonly state: Exclude<LeaseState, 'active' | 'done' | 'cancelled'>;
  readonly retry: boolean;
  /** The node hands the job back without fault: no attempt is used up. */
  readonly isFree?: boolean;
  readonly code: string;
  readonly reason: Record<string, unknown>;
}

@Injectable()
export class LeaseStore {
  constructor(
    private readonly database: DataSource,
    private readonly queue: JobQueue,
    private readonly quotas: Quotas,
    private readonly journal: JobJournal,
    private readonly nodes: Nodes,
    private readonly projection: EscrowProjection,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Gives each of these nodes, which are of one kind, a job from the head of the queue, as far as there are any. */
  async grant(askers: readonly WaitingNode[]): Promise<readonly (Grant | null)[]> {
    const { node } = askers[0]!;
    if (node.state !== 'ready') return askers.map(() => null);
    const busy = await this.quotas.busy(this.database.manager);
    const granted = await this.database.transaction(async (manager) => {
      const jobs = await this.queue.next(manager, node, this.clock.now(), busy, askers.length);
      if (jobs.length === 0) return [];
      const taking = await stillReady(manager, askers);
      const grants = taking.slice(0, jobs.length).map((asker, index) => {
        const job = jobs[index]!;
        return { asker, job, lease: this.newLease(asker, job) };
      });
      const steps = grants.map(({ asker, job, lease }) => {
        const changes = { fence: lease.fence, leaseId: lease.id };
        return this.journal.step(job, 'lease', actor(asker.principal), changes);
      });
      if (grants.length === 0) return [];
      await this.queue.assign(
        manager,
        grants.map(({ job }) => job),
      );
      await manager.insert(Lease, [...grants.map(({ lease }) => lease)]);
      await this.journal.tell(manager, steps);
      return grants;
    });
    if (granted.length > 0) this.relay.kick();
    return askers.map((asker) => granted.find((grant) => grant.asker === asker) ?? null);
  }

  /**
   * Runs `work` in one transaction while job and lease are locked and the lease is the job's newest.
   * @param isVouched  whether something else than the lease speaks for what the node brings
   * @throws Rejection LEASE_UNKNOWN, LEASE_FENCED
   */
  async hold<T>(
    principal: Principal,
    ref: LeaseRef,
    work: (held: Held) => Promise<T>,
    isVouched: (held: Held) => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<T> {
    const result = await this.database.transaction(async (manager) => {
      const found = await manager.findOneBy(Lease, { id: ref.leaseId, tenant: principal.tenant });
      if (found === null) throw unknownLease(ref);
      const job = await this.journal.lock(manager, found.jobId);
      const lease = await manager.findOneByOrFail(Lease, { id: ref.leaseId });
      const held = { manager, job, lease };
      const isCurrent = lease.fence === ref.fence && job.fence === lease.fence;
      const isOpen = isCurrent && (lease.state === 'active' || lease.state === 'done');
      if (!isOpen && !(lease.fence === ref.fence && (await isVouched(held)))) throw fenced(ref, job, lease);
      return work(held);
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
    const isFree = ending.isFree === true || (ending.retry && isAway(code));
    const attempt = job.attempt + (isFree ? 0 : 1);
    const mayRetry = ending.retry && attempt <= this.config.attemptsMax;
    const onLapse = lapseCodes.has(code) ? assuranceOnLapse(job, this.clock.at()) : {};
    const pause = ending.isFree === true ? {} : setback(job, lease, this.clock.now(), this.config.retryPauseSeconds);
    const changes = { leaseId: null, attempt, ...pause, ...onLapse };
    if (mayRetry) await this.journal.apply(manager, job, 'lose', full, changes);
    else if (isBeforeKey && !ending.retry) await this.journal.apply(manager, job, 'refuse', full, { leaseId: null });
    else await this.journal.apply(manager, job, 'fail', full, { leaseId: null });
    await this.projection.project(manager, job);
  }

  async close(manager: EntityManager, lease: Lease, state: LeaseState, code: string | null): Promise<void> {
    const ended = { state, endedAt: this.clock.now(), endCode: code };
    Object.assign(lease, ended);
    await manager.update(Lease, { id: lease.id }, ended);
  }

  /** Ends the lease that the job is under, if any; what its node sends from now on is refused. */
  async takeAway(manager: EntityManager, { leaseId }: Job, code: string): Promise<void> {
    if (leaseId === null) return;
    const ended = { state: 'cancelled' as const, endedAt: this.clock.now(), endCode: code };
    await manager.update(Lease, { id: leaseId, state: 'active' }, ended);
  }

  /** True while another node is there that could take the job and was not refused for it. */
  hasOtherNode(manager: EntityManager, job: Job): Promise<boolean> {
    return this.queue.hasOtherNode(manager, job, this.nodes.onlineSince());
  }

  private newLease({ principal, node }: WaitingNode, job: Job): Lease {
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
      expiresAt: expiryFrom(now, this.config),
      endedAt: null,
      endCode: null,
    });
  }
}

/** Of nodes whose question stands: one may have been cordoned or drained since it asked. */
async function stillReady(manager: EntityManager, askers: readonly WaitingNode[]): Promise<readonly WaitingNode[]> {
  const where = { id: In([...new Set(askers.map(({ node }) => node.id))]), state: 'ready' as const };
  const ready = new Set((await manager.find(NodeRecord, { select: { id: true }, where })).map(({ id }) => id));
  return askers.filter(({ node }) => ready.has(node.id));
}

export function actor(principal: Principal): Pick<Cause, 'actor' | 'tenant'> {
  return { actor: principal.keyId, tenant: principal.tenant };
}

function unknownLease(ref: LeaseRef) {
  return refusal('LEASE_UNKNOWN', {
    expected: 'a lease of this operator',
    got: ref.leaseId,
    rule: 'apps/control-plane/README.md, leases',
  });
}

function fenced(ref: LeaseRef, job: Job, lease: Lease) {
  return refusal('LEASE_FENCED', {
    expected: `the active lease of the job, fence ${job.fence}`,
    got: `fence ${ref.fence} of a lease that is ${lease.state}`,
    rule: 'apps/control-plane/README.md, leases',
    action: 'Stop working on this job; another lease has taken its place or it has ended.',
  });
}
