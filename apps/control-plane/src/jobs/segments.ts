/** The segments of a job one by one: who trained, signed and proved each, and who is at it. */
import { Injectable } from '@nestjs/common';
import { Between, DataSource, In } from 'typeorm';
import { z } from 'zod';
import { Lease, Receipt, SegmentProof, WorkerSegment, type SegmentClaim } from '#libs/persistence';
import { Uuid } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { decodeCursor, pageOf } from '../core/paging.js';
import { Clock } from '../core/timing/clock.js';
import { Jobs } from './jobs.service.js';
import { openJob } from './open-job.js';

export const SegmentView = z
  .object({
    index: z.int(),
    /** In a data-parallel job each worker trains a segment of its own from the same weights. */
    round: z.int(),
    worker: z.int(),
    /** How many steps it is; the last one may be shorter. */
    steps: z.int(),
    /** Node whose checkpoint or partial after it is kept, and since when. */
    trainedBy: Uuid.nullable(),
    trainedAt: z.iso.datetime().nullable(),
    /** An enclave's receipt says that it was trained as demanded. */
    signed: z.boolean(),
    provedBy: Uuid.nullable(),
    provedAt: z.iso.datetime().nullable(),
    /** Node that is at it now: to train it in a round, or to prove it. */
    heldBy: Uuid.nullable(),
    heldUntil: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Segment' });
type SegmentView = z.infer<typeof SegmentView>;
export const SegmentPage = z
  .object({ items: z.array(SegmentView), nextCursor: z.string().nullable() })
  .meta({ id: 'SegmentPage' });
export type SegmentPage = z.infer<typeof SegmentPage>;

type Trained = Pick<SegmentView, 'trainedBy' | 'trainedAt' | 'signed'>;
type Range = readonly [from: number, to: number];

@Injectable()
export class Segments {
  constructor(
    private readonly database: DataSource,
    private readonly jobs: Jobs,
    private readonly clock: Clock,
  ) {}

  /** In their order. @throws Rejection JOB_UNKNOWN */
  async list(caller: Principal, id: string, limit: number, cursor: string | undefined): Promise<SegmentPage> {
    const job = await this.jobs.find(caller, id);
    const { workers, segmentSteps, rounds } = openJob(job).division;
    const all = workers * rounds;
    const from = cursor === undefined ? 0 : Math.min(all, Number(decodeCursor(cursor)));
    const to = Math.min(all, from + limit + 1);
    const { manager } = this.database;
    const within = { jobId: job.id, index: Between(from, to - 1) };
    const proofs = byIndex(await manager.findBy(SegmentProof, within));
    const claims =
      workers > 1 ? byIndex(await manager.findBy(WorkerSegment, within)) : new Map<number, WorkerSegment>();
    const trained = workers > 1 ? byWorkers(claims) : await this.byReceipts(job.id, segmentSteps, [from, to]);
    const view = (index: number): SegmentView => ({
      ...{ index, round: Math.floor(index / workers), worker: index % workers },
      steps: Math.min(segmentSteps, Number(job.steps) - index * segmentSteps),
      ...(trained.get(index) ?? { trainedBy: null, trainedAt: null, signed: false }),
      ...provedOf(proofs.get(index)),
      ...this.heldOf(proofs.get(index) ?? claims.get(index)),
    });
    const indexes = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
    return pageOf(indexes, limit, (index) => String(index + 1), view);
  }

  /** A receipt of nobody's hand stands for a segment that a node without a TEE trained. */
  private async byReceipts(jobId: string, steps: number, [from, to]: Range): Promise<Map<number, Trained>> {
    const { manager } = this.database;
    const receipts = await manager.findBy(Receipt, {
      jobId,
      stepFrom: Between(`${from * steps}`, `${to * steps - 1}`),
    });
    const leases = await manager.findBy(Lease, { id: In(receipts.map(({ leaseId }) => leaseId)) });
    const nodes = new Map(leases.map(({ id, nodeId }) => [id, nodeId]));
    return new Map(
      receipts.map(({ stepFrom, leaseId, createdAt, receipt }) => [
        Number(stepFrom) / steps,
        { trainedBy: nodes.get(leaseId) ?? null, trainedAt: createdAt.toISOString(), signed: receipt.length > 0 },
      ]),
    );
  }

  private heldOf(claim: SegmentClaim | undefined): Pick<SegmentView, 'heldBy' | 'heldUntil'> {
    if (claim === undefined || claim.doneAt !== null || claim.expiresAt <= this.clock.now()) {
      return { heldBy: null, heldUntil: null };
    }
    return { heldBy: claim.nodeId, heldUntil: claim.expiresAt.toISOString() };
  }
}

const byIndex = <T extends SegmentClaim>(rows: readonly T[]): Map<number, T> =>
  new Map(rows.map((row) => [row.index, row]));

function byWorkers(claims: ReadonlyMap<number, WorkerSegment>): Map<number, Trained> {
  const done = [...claims.values()].filter(({ doneAt }) => doneAt !== null);
  return new Map(
    done.map(({ index, nodeId, doneAt, receipt }) => [
      index,
      { trainedBy: nodeId, trainedAt: doneAt!.toISOString(), signed: (receipt?.length ?? 0) > 0 },
    ]),
  );
}

function provedOf(proof: SegmentProof | undefined): Pick<SegmentView, 'provedBy' | 'provedAt'> {
  if (proof === undefined || proof.doneAt === null) return { provedBy: null, provedAt: null };
  return { provedBy: proof.nodeId, provedAt: proof.doneAt.toISOString() };
}
