/**
 * Which segments of which jobs wait for a proof, and who works on them. A segment can be proved as soon as the weights at
 * its two borders are known, in any order and by several nodes at a time; a claim that is not prolonged goes to the next.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, type EntityManager } from 'typeorm';
import { parseJobSpec } from '#attestation';
import type { ProofRef } from '#libs/messaging';
import { Checkpoint, Job, NodeRecord, Receipt, SegmentProof } from '#libs/persistence';
import type { Principal } from '../auth/principal.js';
import { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { JobJournal } from '../jobs/journal.js';
import { Presences } from '../nodes/presences.js';
import { refusal } from '../problem/codes.js';
import { CONFIG } from '../tokens.js';

/** States in which a job's segments are proved. An enclave may have delivered before the last proof is there. */
const provedStates = ['running', 'delivered'];
const jobsLookedAt = 50;

export interface Claim {
  readonly job: Job;
  readonly row: SegmentProof;
  readonly statement: Buffer;
  readonly checkpoint: string | null;
}

@Injectable()
export class ProofBook {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly presences: Presences,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The first segment that is free, claimed for this node; null where there is none. Who may have the data key is the key
   * broker's decision, and nobody's proof is believed unverified: a node that can do neither gives its claim back.
   */
  async claim(node: NodeRecord, jobId: string | undefined): Promise<Claim | null> {
    if (node.capabilities['tee'] !== 'none') return null;
    const where = {
      assurance: In(['zk', 'tee+zk']),
      state: In(provedStates),
      ...(jobId !== undefined && { id: jobId }),
    };
    const jobs = await this.database.manager.find(Job, { where, order: { seq: 'ASC' }, take: jobsLookedAt });
    for (const { id } of jobs) {
      const claim = await this.database.transaction((manager) => this.claimOf(manager, id, node));
      if (claim !== null) return claim;
    }
    return null;
  }

  /** Segments of a job that nobody has proved yet. */
  async left(manager: EntityManager, job: Job): Promise<number> {
    const proved = await manager
      .createQueryBuilder(SegmentProof, 'p')
      .where('p.job_id = :id AND p.proved_at IS NOT NULL', { id: job.id })
      .getCount();
    return segmentsOf(job) - proved;
  }

  /**
   * Runs `work` while the job's row is locked and the claim is its segment's newest.
   * @throws Rejection NODE_UNKNOWN, LEASE_FENCED
   */
  async hold<T>(
    principal: Principal,
    ref: ProofRef,
    work: (manager: EntityManager, job: Job, row: SegmentProof) => Promise<T>,
  ): Promise<T> {
    await this.presences.of(principal, ref.nodeId);
    return this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, ref.jobId);
      const { jobId, index, nodeId, fence } = ref;
      const row = await manager.findOneBy(SegmentProof, { jobId, index, nodeId, fence });
      if (row === null || !provedStates.includes(job.state)) throw fenced(ref, job);
      return work(manager, job, row);
    });
  }

  /** Until when a claim made or prolonged now holds. */
  expiry(): Date {
    return new Date(this.clock.now().getTime() + 1000 * this.config.leaseSeconds);
  }

  private async claimOf(manager: EntityManager, jobId: string, node: NodeRecord): Promise<Claim | null> {
    const job = await this.journal.lock(manager, jobId);
    if (!provedStates.includes(job.state)) return null;
    const { segmentSteps } = parseJobSpec(new Uint8Array(job.spec));
    const receipts = await manager.find(Receipt, { where: { jobId }, order: { stepFrom: 'ASC' } });
    const rows = new Map((await manager.findBy(SegmentProof, { jobId })).map((row) => [row.index, row]));
    const now = this.clock.now();
    const isFree = (row: SegmentProof | undefined): boolean =>
      row === undefined || (row.provedAt === null && row.expiresAt < now);
    const receipt = receipts.find(({ stepFrom }) => isFree(rows.get(Number(stepFrom) / segmentSteps)));
    if (receipt === undefined) return null;
    const index = Number(receipt.stepFrom) / segmentSteps;
    const checkpoint = await manager.findOneBy(Checkpoint, { jobId, step: receipt.stepFrom });
    if (index > 0 && checkpoint === null) return null;
    const row = Object.assign(new SegmentProof(), {
      ...{ jobId, index, nodeId: node.id, fence: (rows.get(index)?.fence ?? 0) + 1, expiresAt: this.expiry() },
      ...{ blob: null, document: null, provedAt: null },
    });
    await manager.save(SegmentProof, row);
    return { job, row, statement: receipt.statement, checkpoint: checkpoint?.blob ?? null };
  }
}

export function segmentsOf(job: Job): number {
  return Math.ceil(Number(job.steps) / parseJobSpec(new Uint8Array(job.spec)).segmentSteps);
}

function fenced({ index, fence }: ProofRef, job: Job) {
  return refusal('LEASE_FENCED', {
    expected: `the newest claim on segment ${index} of a job that is ${provedStates.join(' or ')}`,
    got: `claim ${fence} of a job that is ${job.state}`,
    rule: 'control-plane README, proofs',
    action: 'Stop working on this segment; another node has taken it or the job has ended.',
  });
}
