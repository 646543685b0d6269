/**
 * Which segments of which jobs wait for a proof. A segment can be proved as soon as the weights at its two borders are
 * known, of a sampled job as soon as it is drawn; in any order and by several nodes at a time.
 */
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In, IsNull, MoreThan, Not } from 'typeorm';
import { Checkpoint, Job, NodeRecord, Receipt, SegmentProof } from '#libs/persistence';
import type { ProofElsewhere } from '#libs/wire';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { keysOf } from '../jobs/job-queue.js';
import { openJob } from '../jobs/open-job.js';
import { proofClaims } from './claim-kinds.js';
import { ClaimStore, type Claimed } from './claim-store.js';

/** States in which a job's segments are given out. An enclave may have delivered before the last proof is there. */
const provedStates = ['running', 'delivered'];
const jobsAtOnce = 50;

/** What a node asks for. */
interface Asked {
  readonly jobId?: string | undefined;
  readonly holding?: readonly number[] | undefined;
  readonly insists: boolean;
}

interface Insisting {
  readonly node: NodeRecord;
  readonly holding: readonly number[];
}

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
  async claim(node: NodeRecord, { jobId, holding, insists }: Asked): Promise<ClaimedProof | null> {
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
        const claim = await this.claims.take(proofClaims, id, node.id, (...held) =>
          this.first(insists && holding ? { node, holding } : null, ...held),
        );
        if (claim !== null) return claim;
      }
      if (jobs.length < jobsAtOnce) return null;
      last = jobs.at(-1)!.seq;
    }
  }

  /** A proof that another node brought, of those that the provider of the job lacks. */
  async elsewhere(node: NodeRecord, jobId: string, holding: readonly number[]): Promise<ProofElsewhere | null> {
    const { manager } = this.database;
    const job = await manager.findOneBy(Job, { id: jobId, provider: node.provider });
    if (job === null) return null;
    const due = await this.due(manager, job);
    const proved = await manager.findBy(SegmentProof, { jobId, doneAt: Not(IsNull()) });
    const lacking = proved.find(({ index }) => due.has(index) && !holding.includes(index));
    return lacking === undefined ? null : { index: lacking.index, blob: lacking.blob!, document: lacking.document! };
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

  /** @param insisting a node that lacks what others have claimed, and may claim over that where it is the provider's */
  private async first(
    insisting: Insisting | null,
    manager: EntityManager,
    job: Job,
    isFree: (index: number) => boolean,
    isOthers: (index: number) => boolean,
  ) {
    if (!provedStates.includes(job.state)) return null;
    const { segmentSteps } = openJob(job).spec;
    const receipts = await manager.find(Receipt, { where: { jobId: job.id }, order: { stepFrom: 'ASC' } });
    const due = await this.due(manager, job);
    const indexOf = ({ stepFrom }: Receipt): number => Number(stepFrom) / segmentSteps;
    const isOwn = insisting !== null && insisting.node.provider === job.provider;
    const lacks = (index: number): boolean => isOwn && isOthers(index) && !insisting.holding.includes(index);
    const open = receipts.filter((one) => due.has(indexOf(one)));
    const receipt = open.find((one) => isFree(indexOf(one))) ?? open.find((one) => lacks(indexOf(one)));
    if (receipt === undefined) return null;
    const { statement, stepFrom } = receipt;
    const checkpoint = await manager.findOneBy(Checkpoint, { jobId: job.id, step: stepFrom });
    if (stepFrom !== '0' && checkpoint === null) return null;
    return { index: indexOf(receipt), statement, checkpoint: checkpoint?.blob ?? null };
  }
}
