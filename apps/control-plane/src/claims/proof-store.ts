/**
 * Which segments of which jobs wait for a proof, and who works on them. A segment can be proved as soon as the weights at
 * its two borders are known, of a sampled job as soon as it is drawn; in any order and by several nodes at a time. A claim
 * that is not prolonged goes to the next.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, MoreThan, Not, type EntityManager } from 'typeorm';
import { Checkpoint, Job, NodeRecord, Receipt, SegmentProof } from '#libs/persistence';
import type { ProofRef } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { keysOf } from '../jobs/job-queue.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { leasedStates, waitingStates } from '../jobs/state-machine.js';
import { Presences } from '../nodes/presences.js';

/** States in which a job's segments are given out. An enclave may have delivered before the last proof is there. */
const provedStates = ['running', 'delivered'];
/** And in which proofs are taken: what a prover began, it may bring to its end while the job waits for its next lease. */
const takenStates: readonly string[] = [...waitingStates, ...leasedStates, 'delivered', 'settled'];
const jobsAtOnce = 50;

export interface Claim {
  readonly job: Job;
  readonly row: SegmentProof;
  readonly statement: Buffer;
  readonly checkpoint: string | null;
}

@Injectable()
export class ProofStore {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly presences: Presences,
    private readonly projection: EscrowProjection,
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
        const claim = await this.database.transaction((manager) => this.claimOf(manager, id, node));
        if (claim !== null) return claim;
      }
      if (jobs.length < jobsAtOnce) return null;
      last = jobs.at(-1)!.seq;
    }
  }

  /** Segments of a job that are due and that nobody has proved yet. Of a sampled job none is due before the draw. */
  async left(manager: EntityManager, job: Job): Promise<number> {
    const due = await this.due(manager, job);
    const where = { jobId: job.id, provedAt: Not(IsNull()) };
    const proved = await manager.find(SegmentProof, { where, select: { index: true } });
    return due.size - proved.filter(({ index }) => due.has(index)).length;
  }

  /** All, or those that the escrow drew once the run was committed. */
  async due(manager: EntityManager, job: Job): Promise<ReadonlySet<number>> {
    if (job.assurance === 'sampled') return new Set(await this.projection.drawn(manager, job));
    const { segmentSteps } = openJob(job).spec;
    return new Set(Array.from({ length: Math.ceil(Number(job.steps) / segmentSteps) }, (_, index) => index));
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
      if (row === null || !takenStates.includes(job.state)) throw fenced(ref, job);
      return work(manager, job, row);
    });
  }

  /** Whether this claim brought this proof already: its node may not have heard so, and the job may be over since. */
  async isTold(principal: Principal, ref: ProofRef, proof: Pick<SegmentProof, 'blob' | 'document'>): Promise<boolean> {
    await this.presences.of(principal, ref.nodeId);
    const { jobId, index, nodeId, fence } = ref;
    return this.database.manager.existsBy(SegmentProof, { jobId, index, nodeId, fence, ...proof } as object);
  }

  /** Until when a claim made or prolonged now holds. */
  expiry(): Date {
    return new Date(this.clock.now().getTime() + 1000 * this.config.leaseSeconds);
  }

  private async claimOf(manager: EntityManager, jobId: string, node: NodeRecord): Promise<Claim | null> {
    const job = await this.journal.lock(manager, jobId);
    if (!provedStates.includes(job.state)) return null;
    const { segmentSteps } = openJob(job).spec;
    const receipts = await manager.find(Receipt, { where: { jobId }, order: { stepFrom: 'ASC' } });
    const rows = new Map((await manager.findBy(SegmentProof, { jobId })).map((row) => [row.index, row]));
    const now = this.clock.now();
    const due = await this.due(manager, job);
    const isFree = (index: number): boolean => {
      const row = rows.get(index);
      return due.has(index) && (row === undefined || (row.provedAt === null && row.expiresAt < now));
    };
    const receipt = receipts.find(({ stepFrom }) => isFree(Number(stepFrom) / segmentSteps));
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

function fenced({ index, fence }: ProofRef, job: Job) {
  return refusal('LEASE_FENCED', {
    expected: `the newest claim on segment ${index} of a job that goes on`,
    got: `claim ${fence} of a job that is ${job.state}`,
    rule: 'apps/control-plane/README.md, proofs',
    action: 'Stop working on this segment; another node has taken it or the job has ended.',
  });
}
