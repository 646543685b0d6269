/** Hands jobs to nodes: a long poll that ends with a grant, with null, or with the caller's connection. */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Checkpoint, Job, Receipt } from '#libs/persistence';
import type {
  AssignedJob,
  LeaseAcquired,
  LeaseGrant,
  ProofAcquire,
  ProofAcquired,
  ProofTask,
  ResumePoint,
} from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { dispatchTopic, Signals } from '../core/timing/signals.js';
import { DatasetCache } from '../data/dataset-cache.js';
import { unknownJob } from '../jobs/journal.js';
import { Presences, type Presence } from '../nodes/presences.js';
import { LeaseStore, type WaitingNode, type Grant } from './lease-store.js';
import { ProofStore, type ClaimedProof } from './proof-store.js';
import { WaitingNodes } from './waiting-nodes.js';

const lookAgainMilliseconds = 1000;

@Injectable()
export class Assignment {
  readonly #look = (askers: readonly WaitingNode[]) => this.leases.grant(askers);

  constructor(
    private readonly database: DataSource,
    private readonly leases: LeaseStore,
    private readonly proofs: ProofStore,
    private readonly presence: Presences,
    private readonly datasets: DatasetCache,
    private readonly waitingNodes: WaitingNodes,
    private readonly signals: Signals,
  ) {}

  /** @throws Rejection NODE_UNKNOWN */
  async acquire(
    principal: Principal,
    nodeId: string,
    waitMilliseconds: number,
    holding: readonly string[] | undefined,
    gone: AbortSignal,
  ): Promise<LeaseAcquired> {
    const presence = await this.presence.of(principal, nodeId);
    const { node } = presence;
    const missed = holding === undefined ? null : await this.missedGrant(presence, holding);
    if (missed !== null) return this.describe(missed);
    const asker: WaitingNode = { principal, node };
    const granted = await this.waitingNodes.wait(kindOf(presence), asker, waitMilliseconds, gone, this.#look);
    return granted && this.describe(granted);
  }

  /** A grant that did not reach its node: nothing was reported under it, and the node does not have it. */
  private async missedGrant({ active }: Presence, holding: readonly string[]): Promise<Grant | null> {
    for (const lease of active.filter(({ id }) => !holding.includes(id))) {
      const job = await this.database.manager.findOneByOrFail(Job, { id: lease.jobId });
      if (job.state === 'assigned' && job.leaseId === lease.id) return { job, lease };
    }
    return null;
  }

  /** A segment to prove. @throws Rejection NODE_UNKNOWN, JOB_UNKNOWN */
  async acquireProof(principal: Principal, message: ProofAcquire, gone: AbortSignal): Promise<ProofAcquired> {
    const { nodeId, jobId, waitMs, countOnly, holding } = message;
    const until = performance.now() + waitMs;
    const { node } = await this.presence.of(principal, nodeId);
    for (;;) {
      const claim = countOnly || gone.aborted ? null : await this.proofs.claim(node, message);
      const left = jobId === undefined ? null : await this.proofsLeft(jobId);
      if (claim !== null) return { task: await this.describeTask(claim), elsewhere: null, left };
      const elsewhere = jobId && holding ? await this.proofs.elsewhere(node, jobId, holding) : null;
      const wait = Math.min(until - performance.now(), lookAgainMilliseconds);
      if (elsewhere !== null || left === 0 || wait <= 0 || gone.aborted) return { task: null, elsewhere, left };
      await this.signals.wait(dispatchTopic, wait, gone);
    }
  }

  private async proofsLeft(jobId: string): Promise<number> {
    const { manager } = this.database;
    const job = await manager.findOneBy(Job, { id: jobId });
    if (job === null) throw unknownJob();
    return this.proofs.left(manager, job);
  }

  private async describeTask({ job, claim, statement, checkpoint }: ClaimedProof): Promise<ProofTask> {
    const place = { ...claim, checkpoint, statement: statement.toString('base64') };
    return { ...place, job: await this.describeJob(job, null) };
  }

  private async describe({ job, lease }: Grant): Promise<LeaseGrant> {
    // Before the first lease there is nothing to resume.
    const assigned = await this.describeJob(job, lease.fence === 1 ? null : await this.resumePoint(job));
    const expiresAt = Math.floor(lease.expiresAt.getTime() / 1000);
    return { leaseId: lease.id, fence: lease.fence, expiresAt, job: assigned };
  }

  async describeJob(job: Job, resume: ResumePoint | null): Promise<AssignedJob> {
    const { manifest } = await this.datasets.get(job.datasetId);
    return {
      jobId: job.id,
      escrowId: job.escrowId,
      spec: job.spec.toString('base64'),
      terms: job.terms as AssignedJob['terms'],
      policy: job.policy.toString('base64'),
      brokerUrl: job.brokerUrl,
      datasetManifest: manifest,
      resume,
      ...(job.startBlobs !== null && { start: job.startBlobs }),
    };
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

/** Nodes of one kind are offered the same jobs; one that a policy has refused is a kind of its own. */
function kindOf({ node, isRefused }: Presence): string {
  return isRefused ? node.id : JSON.stringify([node.provider, node.state, node.capabilities]);
}
