/**
 * Who may work on which segment of a job until when, for every kind of work. A claim that is not prolonged goes to the
 * next node, under a higher fence; what the one before it still reports is refused. A lease is kept apart (LeaseStore): its
 * end moves the job, and each attempt has a row.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { CodedError } from '#attestation/base';
import type { Job, SegmentClaim } from '#libs/persistence';
import type { Acknowledged } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { Clock } from '../core/timing/clock.js';
import type { Config } from '../core/config/config.js';
import { jobTopic, Signals } from '../core/timing/signals.js';
import { JobJournal } from '../jobs/journal.js';
import { Presences } from '../nodes/presences.js';
import { refusal } from '../core/problem/codes.js';
import { CONFIG } from '../core/config/tokens.js';
import type { ClaimKind } from './claim-kinds.js';
import { expiryFrom } from './expiry.js';

/** A claim as its holder names it. */
type ClaimRef = Pick<SegmentClaim, 'jobId' | 'index' | 'nodeId' | 'fence'>;

type IsFree = (index: number) => boolean;

/** A claim as its node is told of it; it expires at unix seconds. */
export interface Claimed {
  readonly job: Job;
  readonly claim: Pick<SegmentClaim, 'jobId' | 'index' | 'fence'> & { readonly expiresAt: number };
}

@Injectable()
export class ClaimStore {
  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly presences: Presences,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Claims for a node the segment that `choose` names of a job's free ones; null where it names none. */
  take<C extends { readonly index: number }>(
    { entity }: ClaimKind<SegmentClaim>,
    jobId: string,
    nodeId: string,
    choose: (manager: EntityManager, job: Job, isFree: IsFree, isOthers: IsFree) => Promise<C | null>,
  ): Promise<(C & Claimed) | null> {
    return this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, jobId);
      const rows = new Map((await manager.findBy(entity, { jobId })).map((row) => [row.index, row]));
      const now = this.clock.now();
      const isFree = (row: SegmentClaim | undefined): boolean =>
        row === undefined || (row.doneAt === null && row.expiresAt < now);
      const isOthers = (row: SegmentClaim | undefined): boolean => row !== undefined && row.nodeId !== nodeId;
      const chosen = await choose(
        manager,
        job,
        (index) => isFree(rows.get(index)),
        (index) => isOthers(rows.get(index)),
      );
      if (chosen === null) return null;
      const { index } = chosen;
      const claim = { jobId, index, fence: (rows.get(index)?.fence ?? 0) + 1 };
      const expiresAt = expiryFrom(now, this.config);
      await manager.save(entity, { ...claim, nodeId, expiresAt, claimedAt: now });
      return { ...chosen, job, claim: { ...claim, expiresAt: Math.floor(expiresAt.getTime() / 1000) } };
    });
  }

  /**
   * Runs `work` while the job's row is locked and the claim is its segment's newest.
   * @throws Rejection NODE_UNKNOWN, LEASE_FENCED
   */
  async hold<T>(
    { entity, states, rule }: ClaimKind<SegmentClaim>,
    principal: Principal,
    { jobId, index, nodeId, fence }: ClaimRef,
    work: (manager: EntityManager, job: Job, row: SegmentClaim) => Promise<T>,
  ): Promise<T> {
    await this.presences.of(principal, nodeId);
    return this.database.transaction(async (manager) => {
      const job = await this.journal.lock(manager, jobId);
      const row = await manager.findOneBy(entity, { jobId, index, nodeId, fence });
      if (row === null || !states.includes(job.state)) {
        throw refusal('LEASE_FENCED', {
          expected: `the newest claim on segment ${index} of a job that goes on`,
          got: `claim ${fence} of a job that is ${job.state}`,
          rule,
          action: 'Stop working on this segment; another node has taken it or the job has ended.',
        });
      }
      return work(manager, job, row);
    });
  }

  /** Prolongs a claim. It is not held where it went to somebody else, its time is over or the job has ended. @throws Rejection NODE_UNKNOWN */
  async progress(
    kind: ClaimKind<SegmentClaim>,
    principal: Principal,
    ref: ClaimRef,
    figuresOf: (job: Job) => Record<string, unknown>,
  ): Promise<{ held: boolean }> {
    try {
      const isOver = await this.hold(kind, principal, ref, async (manager, job, row) => {
        const now = this.clock.now();
        const end = kind.endOf(job, row);
        if (end !== null && end < now.getTime()) return true;
        await this.change(manager, kind, row, { expiresAt: expiryFrom(now, this.config) });
        const data = { ...kind.place(job, row.index), ...figuresOf(job), nodeId: ref.nodeId };
        await this.journal.record(manager, job.id, kind.events.progress, data);
        return false;
      });
      if (isOver) return { held: false };
    } catch (error) {
      if (error instanceof CodedError && error.code === 'LEASE_FENCED') return { held: false };
      throw error;
    }
    this.signals.raise(jobTopic(ref.jobId));
    return { held: true };
  }

  /** Stores what was checked. Told again it changes nothing. @throws Rejection NODE_UNKNOWN, LEASE_FENCED */
  async finish<R extends SegmentClaim>(
    kind: ClaimKind<R>,
    principal: Principal,
    ref: ClaimRef,
    result: Partial<R>,
    told: Record<string, unknown>,
  ): Promise<Acknowledged> {
    await this.hold(kind, principal, ref, async (manager, job, row) => {
      if (row.doneAt !== null) return;
      await this.change(manager, kind, row, { ...result, doneAt: this.clock.now() });
      const data = { ...kind.place(job, row.index), ...told, nodeId: ref.nodeId };
      await this.journal.record(manager, job.id, kind.events.done, data);
      if (kind.isProof) await this.journal.proved(manager, job);
    });
    return this.ended(kind, ref);
  }

  /** Whether this claim brought this result already: its node may not have heard so, and the job may be over since. */
  async isTold<R extends SegmentClaim>(
    { entity }: ClaimKind<R>,
    principal: Principal,
    { jobId, index, nodeId, fence }: ClaimRef,
    result: Partial<R>,
  ): Promise<boolean> {
    await this.presences.of(principal, nodeId);
    // What a node says is compared here: the database refuses texts with NUL.
    const row = await this.database.manager.findOneBy<SegmentClaim>(entity, { jobId, index, nodeId, fence });
    return row !== null && Object.entries(result).every(([name, value]) => row[name as keyof SegmentClaim] === value);
  }

  /** Gives a claim back: its segment is free at once. @throws Rejection NODE_UNKNOWN, LEASE_FENCED */
  async fail(
    kind: ClaimKind<SegmentClaim>,
    principal: Principal,
    { code, detail, ...ref }: ClaimRef & { readonly code: string; readonly detail: string },
  ): Promise<Acknowledged> {
    await this.hold(kind, principal, ref, async (manager, job, row) => {
      if (row.doneAt !== null) return;
      await this.change(manager, kind, row, { expiresAt: new Date(this.clock.now().getTime() - 1) });
      const data = { ...kind.place(job, row.index), code, detail, saidBy: 'node' };
      await this.journal.record(manager, job.id, kind.events.failed, data);
    });
    return this.ended(kind, ref);
  }

  private async change(
    manager: EntityManager,
    { entity }: ClaimKind<SegmentClaim>,
    { jobId, index, fence }: ClaimRef,
    changes: object,
  ): Promise<void> {
    await manager.update(entity, { jobId, index, fence }, changes);
  }

  private ended({ topics }: ClaimKind<SegmentClaim>, { jobId }: ClaimRef): Acknowledged {
    for (const topic of [jobTopic(jobId), ...topics]) this.signals.raise(topic);
    return {};
  }
}
