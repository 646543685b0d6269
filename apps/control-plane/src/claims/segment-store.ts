/**
 * Which segments of data-parallel jobs wait for a worker. The segments of the round at hand can be trained in any order and
 * by several nodes at a time.
 */
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, MoreThan } from 'typeorm';
import type { JobSpec } from '#attestation/records';
import { Checkpoint, Job, NodeRecord, Receipt, WorkerSegment } from '#libs/persistence';
import { refusal } from '../core/problem/codes.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';
import { canTrain } from '../jobs/semantics.js';
import { trainingClaims } from './claim-kinds.js';
import { ClaimStore, type Claimed } from './claim-store.js';

const { rule } = trainingClaims;
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
}

export interface ClaimedSegment extends Claimed {
  readonly checkpoint: string | null;
}

@Injectable()
export class SegmentStore {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly claims: ClaimStore,
  ) {}

  /**
   * The first segment that is free, claimed for this node; null where there is none.
   * @throws Rejection JOB_UNKNOWN, PARALLEL_PROVIDER
   */
  async claim(node: NodeRecord, jobId: string | undefined): Promise<ClaimedSegment | null> {
    if (node.capabilities['tee'] === 'none') return null;
    if (jobId !== undefined) requireProvider(await this.job(jobId), node);
    const { provider } = node;
    const where = { parallel: MoreThan(1), state: 'running', provider, ...(jobId !== undefined && { id: jobId }) };
    const jobs = await this.database.manager.find(Job, { where, order: { seq: 'ASC' }, take: jobsLookedAt });
    for (const { id } of jobs.filter(({ requirements }) => canTrain(node, requirements))) {
      const claim = await this.claims.take(trainingClaims, id, node.id, (manager, job, isFree) =>
        this.first(node, manager, job, isFree),
      );
      if (claim !== null) return claim;
    }
    return null;
  }

  /** The partials of the round at hand when all are there. */
  async complete(job: Job): Promise<{ checkpoint: string | null; partials: string[] } | null> {
    const { manager } = this.database;
    const { workers, first, checkpoint } = await roundOf(manager, job);
    const rows = await manager.findBy(WorkerSegment, { jobId: job.id });
    const blobs = new Map(rows.map(({ index, blob }) => [index, blob]));
    const partials = range(first, workers).flatMap((index) => blobs.get(index) ?? []);
    return partials.length === workers ? { checkpoint, partials } : null;
  }

  /** @throws Rejection JOB_UNKNOWN */
  async job(jobId: string): Promise<Job> {
    const job = await this.database.manager.findOneBy(Job, { id: jobId });
    if (job !== null) return job;
    const [expected, got] = ['a job that runs', 'no such job'];
    throw refusal('JOB_UNKNOWN', { expected, got, rule });
  }

  private async first(node: NodeRecord, manager: EntityManager, job: Job, isFree: (index: number) => boolean) {
    const { workers, number, step, first, checkpoint } = await roundOf(manager, job);
    if (job.state !== 'running' || step >= Number(job.steps)) return null;
    const index = range(first, workers).find(isFree);
    if (index === undefined) return null;
    const claimed = { round: number, worker: index - first, index, nodeId: node.id, done: false };
    await this.journal.record(manager, job.id, 'segment', claimed);
    return { index, checkpoint };
  }
}

function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

export async function roundOf(manager: EntityManager, job: Job): Promise<Round> {
  const { spec, division } = openJob(job);
  const { workers, roundSteps } = division;
  const number = await manager.countBy(Receipt, { jobId: job.id });
  const step = number * roundSteps;
  const stored = step === 0 ? null : await manager.findOneBy(Checkpoint, { jobId: job.id, step: String(step) });
  return { spec, workers, number, step, first: number * workers, checkpoint: stored?.blob ?? null };
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
