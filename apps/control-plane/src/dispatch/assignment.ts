/** Hands jobs to nodes: a long poll that ends with a grant, with null, or with the caller's connection. */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { AssignedJob, LeaseAcquired, LeaseGrant, ResumePoint } from '#libs/messaging';
import { Checkpoint, Dataset, Receipt, type Job, type Lease } from '#libs/persistence';
import type { Principal } from '../auth/principal.js';
import { dispatchTopic, Signals } from '../events/signals.js';
import { Nodes } from '../nodes/nodes.service.js';
import { LeaseBook } from './lease-book.js';

const lookAgainMilliseconds = 1000;

@Injectable()
export class Assignment {
  constructor(
    private readonly database: DataSource,
    private readonly leases: LeaseBook,
    private readonly nodes: Nodes,
    private readonly signals: Signals,
  ) {}

  /** @throws Rejection NODE_UNKNOWN */
  async acquire(
    principal: Principal,
    nodeId: string,
    waitMilliseconds: number,
    gone: AbortSignal,
  ): Promise<LeaseAcquired> {
    const until = performance.now() + waitMilliseconds;
    const node = await this.nodes.seen(principal, nodeId);
    for (;;) {
      if (gone.aborted) return null;
      const left = until - performance.now();
      const woken = this.signals.wait(dispatchTopic, Math.max(0, Math.min(left, lookAgainMilliseconds)), gone);
      const granted = await this.leases.grant(principal, node);
      if (granted !== null) return this.describe(granted.job, granted.lease);
      if (left <= 0) return null;
      await woken;
    }
  }

  private async describe(job: Job, lease: Lease): Promise<LeaseGrant> {
    const dataset = await this.database.manager.findOneByOrFail(Dataset, { id: job.datasetId });
    const assigned: AssignedJob = {
      jobId: job.id,
      escrowId: job.escrowId,
      spec: job.spec.toString('base64'),
      terms: job.terms as AssignedJob['terms'],
      policy: job.policy.toString('base64'),
      brokerUrl: job.brokerUrl,
      datasetManifest: dataset.manifest,
      resume: await this.resumePoint(job),
    };
    const expiresAt = Math.floor(lease.expiresAt.getTime() / 1000);
    return { leaseId: lease.id, fence: lease.fence, expiresAt, job: assigned };
  }

  /** The last checkpoint whose receipts lead to it without a gap: they are stored together, so it is the newest one. */
  private async resumePoint(job: Job): Promise<ResumePoint | null> {
    const { manager } = this.database;
    const last = await manager.findOne(Checkpoint, { where: { jobId: job.id }, order: { step: 'DESC' } });
    if (last === null) return null;
    const rows = await manager.find(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'ASC' } });
    const receipts = rows
      .filter((row) => BigInt(row.stepTo) <= BigInt(last.step))
      .map((row) => ({ statement: row.statement.toString('base64'), receipt: row.receipt.toString('base64') }));
    return { step: Number(last.step), blob: last.blob, receipts };
  }
}
