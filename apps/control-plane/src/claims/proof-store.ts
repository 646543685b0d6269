/**
 * Which segments of which jobs wait for a proof. A segment can be proved as soon as the weights at its two borders are
 * known, of a sampled job as soon as it is drawn; in any order and by several nodes at a time.
 */
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In, IsNull, MoreThan, Not } from 'typeorm';
import { Checkpoint, Job, NodeRecord, Receipt, SegmentProof } from '#libs/persistence';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { keysOf } from '../jobs/job-queue.js';
import { openJob } from '../jobs/open-job.js';
import { proofClaims } from './claim-kinds.js';
import { ClaimStore, type Claimed } from './claim-store.js';

/** States in which a job's segments are given out. An enclave may have delivered before the last proof is there. */
const provedStates = ['running', 'delivered'];
const jobsAtOnce = 50;

export interface ClaimedProof extends Claimed {
  readonly statement: Buffer;
  readonly checkpoint: string | null;
}

@Injectable()
export class ProofStore {
  constructor(
    private readonly database: DataSource,
    private readonly claims: ClaimStore,
    private readonly projection: EscrowProjection,
  ) {}

  /**
   * The first segment that is free, claimed for this node; null where there is none. Who may have the data key is the key
   * broker's decision, and nobody's proof is believed unverified: a node that can do neither gives its claim back.
   */
  async claim(node: NodeRecord, jobId: string | undefined): Promise<ClaimedProof | null> {
    if (node.capabilities['tee'] !== 'none') return null;
    const where = {
      assurance: In(['zk', 'tee+zk', 'sampled']),
      state: In(provedStates),
      ...(jobId !== undefined && { id: jobId }),
    };
    let last = '0';
    for (;;) {
      const page = { where: { ...where, seq: MoreThan(last) }, order: { seq: 'ASC' }, take: jobsAtOnce } as const;
      const jobs = await this.database.manager.find(Job, page);
      for (const { id, requirements } of jobs) {
        const key = requirements['groth16Key'];
        if (key !== undefined && !keysOf(node.capabilities).includes(String(key))) continue;
        const claim = await this.claims.take(proofClaims, id, node.id, (...held) => this.first(...held));
        if (claim !== null) return claim;
      }
      if (jobs.length < jobsAtOnce) return null;
      last = jobs.at(-1)!.seq;
    }
  }

  /** Segments of a job that are due and that nobody has proved yet. Of a sampled job none is due before the draw. */
  async left(manager: EntityManager, job: Job): Promise<number> {
    const due = await this.due(manager, job);
    const where = { jobId: job.id, doneAt: Not(IsNull()) };
    const proved = await manager.find(SegmentProof, { where, select: { index: true } });
    return due.size - proved.filter(({ index }) => due.has(index)).length;
  }

  /** All, or those that the escrow drew once the run was committed. */
  async due(manager: EntityManager, job: Job): Promise<ReadonlySet<number>> {
    if (job.assurance === 'sampled') return new Set(await this.projection.drawn(manager, job));
    const { segmentSteps } = openJob(job).spec;
    return new Set(Array.from({ length: Math.ceil(Number(job.steps) / segmentSteps) }, (_, index) => index));
  }

  private async first(manager: EntityManager, job: Job, isFree: (index: number) => boolean) {
    if (!provedStates.includes(job.state)) return null;
    const { segmentSteps } = openJob(job).spec;
    const receipts = await manager.find(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'ASC' } });
    const due = await this.due(manager, job);
    const indexOf = ({ stepFrom }: Receipt): number => Number(stepFrom) / segmentSteps;
    const receipt = receipts.find((one) => due.has(indexOf(one)) && isFree(indexOf(one)));
    if (receipt === undefined) return null;
    const { statement, stepFrom } = receipt;
    const checkpoint = await manager.findOneBy(Checkpoint, { jobId: job.id, step: stepFrom });
    if (stepFrom !== '0' && checkpoint === null) return null;
    return { index: indexOf(receipt), statement, checkpoint: checkpoint?.blob ?? null };
  }
}
