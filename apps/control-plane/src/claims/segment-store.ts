/**
 * Which segments of data-parallel jobs wait for a worker, and who works on them. The segments of the round at hand can be
 * trained in any order and by several nodes at a time; a claim that is not prolonged goes to the next.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, MoreThan, type EntityManager } from 'typeorm';
import { type JobSpec } from '#attestation/records';
import { Checkpoint, Job, NodeRecord, Receipt, WorkerSegment } from '#libs/persistence';
import type { SegmentRef } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { leasedStates, waitingStates, type JobState } from '../jobs/state-machine.js';
import { Presences } from '../nodes/presences.js';

const rule = 'apps/control-plane/README.md, rounds';
const jobsLookedAt = 50;

/** What is done of a data-parallel job, and what comes next. */
interface Round {
  readonly spec: JobSpec;
  readonly workers: number;
  readonly number: number;
  /** First step; the job's last when nothing is left. */
  readonly step: number;
  /** Segment of its first worker. */
  readonly first: number;
  /** SHA-256 of the checkpoint that it starts from; null: the start weights. */
  readonly checkpoint: string | null;
  /** Those that were claimed, by segment. */
  readonly rows: ReadonlyMap<number, WorkerSegment>;
}

export interface SegmentClaim {
  readonly job: Job;
  readonly row: WorkerSegment;
  readonly checkpoint: string | null;
}

@Injectable()
export class SegmentStore {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly presences: Presences,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The first segment that is free, claimed for this node; null where there is none.
   * @throws Rejection JOB_UNKNOWN, PARALLEL_PROVIDER
   */
  async claim(node: NodeRecord, jobId: string | undefined): Promise<SegmentClaim | null> {
    if (node.capabilities['tee'] === 'none') return null;
    if (jobId !== undefined) requireProvider(await this.job(jobId), node);
    const { provider } = node;
    const where = { parallel: MoreThan(1), state: 'running', provider, ...(jobId !== undefined && { id: jobId }) };
    const jobs = await this.database.manager.find(Job, { where, order: { seq: 'ASC' }, take: jobsLookedAt });
    for (const { id } of jobs) {
      const claim = await this.database.transaction((manager) => this.claimOf(manager, id, node));
      if (claim !== null) return claim;
    }
    return null;
  }

  /** The partials of the round at hand when all are there. */
  async complete(job: Job): Promise<{ checkpoint: string | null; partials: string[] } | null> {
    const { workers, first, checkpoint, rows } = await roundOf(this.database.manager, job);
    const blobs = Array.from({ length: workers }, (_, worker) => rows.get(first + worker)?.blob ?? null);
    const partials = blobs.filter((blob) => blob !== null);
    return partials.length === workers ? { checkpoint, partials } : null;
  }

  /** @throws Rejection JOB_UNKNOWN */
  async job(jobId: string): Promise<Job> {
    const job = await this.database.manager.findOneBy(Job, { id: jobId });
    if (job !== null) return job;
    const [expected, got] = ['a job that runs', 'no such job'];
    throw refusal('JOB_UNKNOWN', { expected, got, rule });
  }

  /**
   * Runs `work` while the job's row is locked and the claim is its segment's newest. The job may be between two leases:
   * what a worker began it may bring to its end.
   * @throws Rejection NODE_UNKNOWN, LEASE_FENCED
   */
  async hold<T>(
    principal: Principal,
    ref: SegmentRef,
    work: (manager: EntityManager, job: Job, row: WorkerSegment) => Promise<T>,
  ): Promise<T> {
    await this.presences.of(principal, ref.nodeId);
    return this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, ref.jobId);
      const { jobId, index, nodeId, fence } = ref;
      const row = await manager.findOneBy(WorkerSegment, { jobId, index, nodeId, fence });
      if (row === null || !isOpen(job)) throw fenced(ref, job);
      return work(manager, job, row);
    });
  }

  /** Until when a claim made or prolonged now holds. */
  expiry(): Date {
    return new Date(this.clock.now().getTime() + 1000 * this.config.leaseSeconds);
  }

  private async claimOf(manager: EntityManager, jobId: string, node: NodeRecord): Promise<SegmentClaim | null> {
    const job = await this.journal.lock(manager, jobId);
    const { workers, number, step, first, checkpoint, rows } = await roundOf(manager, job);
    if (job.state !== 'running' || step >= Number(job.steps)) return null;
    const now = this.clock.now();
    const isFree = (row: WorkerSegment | undefined): boolean =>
      row === undefined || (row.doneAt === null && row.expiresAt < now);
    const worker = Array.from({ length: workers }, (_, at) => at).find((at) => isFree(rows.get(first + at)));
    if (worker === undefined) return null;
    const index = first + worker;
    const row = Object.assign(new WorkerSegment(), {
      ...{ jobId, index, nodeId: node.id, fence: (rows.get(index)?.fence ?? 0) + 1, expiresAt: this.expiry() },
      ...{ workerId: null, statement: null, receipt: null, blob: null, doneAt: null },
    });
    await manager.save(WorkerSegment, row);
    await this.journal.record(manager, jobId, 'segment', {
      round: number,
      worker,
      index,
      nodeId: node.id,
      done: false,
    });
    return { job, row, checkpoint };
  }
}

export async function roundOf(manager: EntityManager, job: Job): Promise<Round> {
  const { spec, division } = openJob(job);
  const { workers, roundSteps } = division;
  const number = await manager.countBy(Receipt, { jobId: job.id });
  const step = number * roundSteps;
  const stored = step === 0 ? null : await manager.findOneBy(Checkpoint, { jobId: job.id, step: String(step) });
  const rows = await manager.findBy(WorkerSegment, { jobId: job.id });
  return {
    ...{ spec, workers, number, step, first: number * workers, checkpoint: stored?.blob ?? null },
    rows: new Map(rows.map((row) => [row.index, row])),
  };
}

export function isOpen({ state }: Job): boolean {
  return ([...waitingStates, ...leasedStates] as readonly JobState[]).includes(state as JobState);
}

/** The escrow pays one account: whoever trains for it has that account. @throws Rejection PARALLEL_PROVIDER */
export function requireProvider(job: Job, node: NodeRecord): void {
  if (job.provider === node.provider) return;
  throw refusal('PARALLEL_PROVIDER', {
    expected: `a node of the provider that is paid, ${job.provider}`,
    got: node.provider,
    rule,
    action: 'Offer this node for jobs of its own provider.',
  });
}

function fenced({ index, fence }: SegmentRef, job: Job) {
  return refusal('LEASE_FENCED', {
    expected: `the newest claim on segment ${index} of a job that goes on`,
    got: `claim ${fence} of a job that is ${job.state}`,
    rule,
    action: 'Stop working on this segment; another node has taken it or the job has ended.',
  });
}
