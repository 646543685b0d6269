/** Leases that the database lost: it was restored from a backup that is older than they are, and the chain has their run. */
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Job, KeyRelease, Lease, NodeRecord, Verdict } from '#libs/persistence';
import type { LeaseRestore, LeaseRestored } from '#libs/wire';
import { actor, LeaseStore } from '../claims/lease-store.js';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import type { EvidenceVerdict } from '../evidence/evidence-appraiser.js';
import { checkRelease, releaseColumns } from '../evidence/release-check.js';
import { keepEndorsements, SessionJudge } from '../evidence/session-judge.js';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { nextState, type JobState } from '../jobs/state-machine.js';

@Injectable()
export class LeaseRestores {
  constructor(
    private readonly database: DataSource,
    private readonly leases: LeaseStore,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly clock: Clock,
    private readonly judge: SessionJudge,
  ) {}

  /**
   * Stores an ended lease with its session again, from what let the session in, for a delivery that the chain has committed: no
   * other can be paid. Whoever has the job meanwhile loses it. Appraises outside of any transaction.
   *
   * @throws Rejection LEASE_UNKNOWN while the chain does not speak for the delivery; JOB_UNKNOWN, JOB_STATE, NODE_UNKNOWN,
   *   EVIDENCE_REFUSED, RELEASE_SIGNATURE, SEAL_SIGNATURE
   */
  async restore(principal: Principal, message: LeaseRestore): Promise<LeaseRestored> {
    const before = await this.database.transaction((manager) => this.check(manager, principal, message));
    if (before.known !== null) return before.known;
    const { policy } = before.job;
    const bound = { provider: before.node.provider, chainId: openJob(before.job).spec.settlement.chainId };
    const evidence = Buffer.from(message.evidence, 'base64');
    // Its lease may have been over for long: what counts is that the broker's word was for this evidence.
    const at = Math.min(this.clock.at(), message.release.release.notAfter);
    const endorsements = Buffer.from(message.endorsements, 'base64');
    const verdict = await this.judge.appraise({ evidence, endorsements, policy, bound }, at);
    return this.database.transaction(async (manager) => {
      const { known, job, node } = await this.check(manager, principal, message);
      if (known !== null) return known;
      checkRelease(job, evidence, message.release);
      const fence = job.fence + 1;
      await this.leases.takeAway(manager, job, 'ESCROW_COMMITTED');
      await manager.insert(Lease, this.ended(principal, message, job, node, fence));
      await this.storeSession(manager, message, evidence, verdict, at);
      await manager.update(Job, { id: job.id }, { fence, updatedAt: this.clock.now() });
      await this.journal.audit(manager, { ...actor(principal), code: 'ESCROW_COMMITTED' }, 'lease.restore', job.id);
      return { fence };
    });
  }

  private async check(manager: EntityManager, { tenant }: Principal, message: LeaseRestore) {
    const { leaseId, jobId, nodeId, delivery } = message;
    const job = await this.journal.lock(manager, jobId);
    const lease = await manager.findOneBy(Lease, { id: leaseId });
    const committed = await this.projection.committedDelivery(manager, job);
    const isForeign = lease !== null && (lease.tenant !== tenant || lease.jobId !== jobId);
    if (isForeign || committed !== delivery) throw unvouched(committed, delivery);
    const node = await manager.findOneBy(NodeRecord, { id: nodeId, tenant });
    if (node === null) throw unknownNode(nodeId);
    if (lease !== null) return { known: { fence: lease.fence }, job, node };
    nextState(job.state as JobState, 'recover');
    return { known: null, job, node };
  }

  private ended({ tenant }: Principal, { leaseId }: LeaseRestore, job: Job, node: NodeRecord, fence: number): Lease {
    const now = this.clock.now();
    return Object.assign(new Lease(), {
      ...{ id: leaseId, jobId: job.id, nodeId: node.id, tenant, attempt: job.attempt, fence, state: 'expired' },
      ...{ acquiredAt: now, expiresAt: now, endedAt: now, endCode: 'ESCROW_COMMITTED' },
    });
  }

  private async storeSession(
    manager: EntityManager,
    { leaseId, jobId, release, endorsements }: LeaseRestore,
    evidence: Buffer,
    { tier, checks, receiptKey, devices }: EvidenceVerdict,
    at: number,
  ): Promise<void> {
    if (receiptKey === null) throw refusedEvidence(tier);
    const kept = await keepEndorsements(manager, Buffer.from(endorsements, 'base64'));
    const shown = {
      leaseId,
      jobId,
      tier,
      evidence,
      endorsements: kept,
      checks: checks as object,
      devices: [...devices],
    };
    await manager.insert(Verdict, { ...shown, receiptKey: Buffer.from(receiptKey), at: String(at) });
    await manager.insert(KeyRelease, { leaseId, jobId, ...releaseColumns(release), createdAt: this.clock.now() });
  }
}

const rule = 'apps/control-plane/README.md, leases';

function unvouched(committed: string | null, delivery: string) {
  return refusal('LEASE_UNKNOWN', {
    expected: `the delivery that the chain has: ${committed ?? 'none yet'}`,
    got: delivery,
    rule,
    action: 'Try again when the control plane has read the chain.',
  });
}

function unknownNode(nodeId: string) {
  const expected = 'a node of this operator';
  return refusal('NODE_UNKNOWN', { expected, got: nodeId, rule, action: 'Register the node again.' });
}

function refusedEvidence(tier: string) {
  return refusal('EVIDENCE_REFUSED', { expected: 'evidence that the policy of the job accepts', got: tier, rule });
}
