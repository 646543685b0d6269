/**
 * Stores submitted jobs, as many as come at once in one transaction: rows, events, audit entries, what their escrows say,
 * and the answers that their idempotency keys replay.
 */
import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Not, QueryFailedError, type EntityManager } from 'typeorm';
import { Rejection, to0x } from '#attestation/base';
import { Dataset, Idempotency, Job } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { LogOutbox, type DuePolicy } from '../core/events/log-outbox.js';
import { OutboxRelay } from '../core/events/outbox-relay.js';
import { inProgress, type PendingReply } from '../core/idempotency/pending-reply.js';
import { refusal } from '../core/problem/codes.js';
import { apartMilliseconds, Batches, type Outcome } from '../core/timing/batches.js';
import { shareEvents } from './escrow-lock.js';
import { EscrowProjection, noteOf, triggerOf } from './escrow-projection.js';
import { JobQueue } from './job-queue.js';
import { jobView } from './job.view.js';
import { JobJournal } from './journal.js';
import { openJob } from './open-job.js';
import { Quotas } from './quotas.js';

/** A job whose own contents were found in order. */
interface Submitted {
  readonly principal: Principal;
  /** As it is to be stored, but for its rank and what its escrow says. */
  readonly job: Job;
  /** Price that the terms promise. */
  readonly price: bigint;
  /** Why no node that is online can take it. */
  readonly unplaced: string | null;
  readonly reply: PendingReply | null;
}

const round = { size: 64, rounds: 2, apartMilliseconds };

@Injectable()
export class SubmissionBatch {
  readonly store: (submitted: Submitted) => Promise<Job>;

  constructor(
    private readonly database: DataSource,
    private readonly queue: JobQueue,
    private readonly quotas: Quotas,
    private readonly journal: JobJournal,
    private readonly projection: EscrowProjection,
    private readonly relay: OutboxRelay,
    private readonly log: LogOutbox,
    batches: Batches,
  ) {
    /** @throws Rejection JOB_DUPLICATE, QUOTA_JOBS, IDEMPOTENCY_IN_PROGRESS */
    this.store = batches.make(round, (all: readonly Submitted[]) => this.storeAll(all));
  }

  private async storeAll(all: readonly Submitted[]): Promise<Outcome<Job>[]> {
    const outcomes = new Map<Submitted, Outcome<Job>>();
    const { firsts, twins } = withoutTwins(all);
    const together = await this.transaction(firsts).catch((error: unknown) => {
      if (!isContended(error)) throw error;
      return firsts.map(() => null);
    });
    firsts.forEach((one, index) => together[index] && outcomes.set(one, together[index]));
    // What met another replica's twin, or one of its own round, is looked at again by itself.
    for (const one of [...firsts.filter((first) => !outcomes.has(first)), ...twins]) {
      outcomes.set(one, await this.storeAlone(one));
    }
    this.relay.kick();
    return all.map((one) => outcomes.get(one)!);
  }

  private async storeAlone(one: Submitted): Promise<Outcome<Job>> {
    try {
      const [outcome] = await this.transaction([one]);
      return outcome ?? { error: duplicate(one.job.id) };
    } catch (error) {
      if (error instanceof DatasetGone) return { error: datasetUnknown(error.message) };
      return { error: error instanceof ReplyTaken ? inProgress() : error };
    }
  }

  /** @returns null for a job that met a twin which was stored meanwhile */
  private async transaction(all: readonly Submitted[]): Promise<(Outcome<Job> | null)[]> {
    const outcomes = await this.database.transaction(async (manager) => {
      await shareEvents(manager);
      return this.insert(manager, all);
    });
    outcomes.forEach((outcome, index) => {
      const { job, reply } = all[index]!;
      if (reply !== null && outcome !== null && 'value' in outcome && outcome.value === job) reply.isKept = true;
    });
    return outcomes;
  }

  private async insert(manager: EntityManager, all: readonly Submitted[]): Promise<(Outcome<Job> | null)[]> {
    const outcomes = new Map<Submitted, Outcome<Job>>();
    const earlier = await manager.findBy(Job, { id: In(all.map(({ job }) => job.id)) });
    const known = new Map(earlier.map((job) => [job.id, job]));
    for (const one of all) {
      const same = known.get(one.job.id);
      const outcome = same === undefined ? await this.admit(manager, one) : answerFor(one, same);
      if (outcome !== null) outcomes.set(one, outcome);
    }
    const admitted = all.filter((one) => !outcomes.has(one));
    if (admitted.length > 0) {
      for (const one of await this.insertAll(manager, admitted)) outcomes.set(one, { value: one.job });
    }
    return all.map((one) => outcomes.get(one) ?? null);
  }

  /** @returns why not, or null; a statement that failed has ended the transaction for all */
  private async admit(manager: EntityManager, { principal }: Submitted): Promise<{ error: unknown } | null> {
    try {
      await this.quotas.takeWaiting(manager, principal.tenant);
      return null;
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      return { error };
    }
  }

  /** @returns those that met no twin */
  private async insertAll(manager: EntityManager, all: readonly Submitted[]): Promise<Submitted[]> {
    await this.rank(manager, all);
    const escrowIds = all.map(({ job }) => job.escrowId);
    const escrows = await this.projection.summaries(manager, escrowIds);
    const news = new Map<Submitted, EscrowNews>();
    for (const one of all) {
      const escrow = escrows.get(one.job.escrowId)!;
      if (escrow.state === 'none' || triggerOf('submitted', escrow.state) !== null) continue;
      const update = noteOf(one.job, escrow, { price: one.price, provider: one.job.provider });
      news.set(one, { update, data: { ...update, transaction: escrow.transaction } });
    }
    const rows = all.map((one) => ({ ...one.job, ...news.get(one)?.update }) as object);
    const insert = manager.createQueryBuilder().insert().into(Job).values(rows).orIgnore().returning('id');
    const ids = new Set(((await insert.execute()).raw as { id: string }[]).map(({ id }) => id));
    const stored = all.filter(({ job }) => ids.has(job.id));
    await checkDatasets(manager, stored);
    if (stored.length > 0) await this.tell(manager, stored, news);
    for (const one of stored) {
      Object.assign(one.job, news.get(one)?.update);
      const { state } = escrows.get(one.job.escrowId)!;
      if (triggerOf('submitted', state) === null) continue;
      const locked = await this.journal.lock(manager, one.job.id);
      await this.projection.project(manager, locked);
      Object.assign(one.job, locked);
    }
    await this.keepReplies(manager, stored);
    return stored;
  }

  private async rank(manager: EntityManager, all: readonly Submitted[]): Promise<void> {
    const next = new Map<string, bigint>();
    for (const { job } of all) {
      const rank = next.get(job.tenant) ?? BigInt(await this.queue.rankFor(manager, job.tenant));
      job.rank = String(rank);
      next.set(job.tenant, rank + 1n);
    }
  }

  private async tell(
    manager: EntityManager,
    stored: readonly Submitted[],
    news: ReadonlyMap<Submitted, EscrowNews>,
  ): Promise<void> {
    const events = stored.flatMap((one) => {
      const { id: jobId, attempt, fence, code } = one.job;
      const data = { from: null, to: 'submitted', attempt, fence, code, reason: null };
      const escrow = news.get(one);
      const first = { jobId, type: 'state', data };
      return escrow === undefined ? [first] : [first, { jobId, type: 'escrow', data: escrow.data }];
    });
    await this.journal.recordAll(manager, events);
    const entries = stored.map(({ principal: { keyId: actor, tenant }, job }) => ({
      ...{ cause: { actor, tenant }, action: 'job.submit', subject: job.id },
    }));
    await this.journal.auditAll(manager, entries);
    const messages = [...news].flatMap(([one, { update }]) =>
      stored.includes(one)
        ? [{ topic: 'escrow.changed.v1', subject: one.job.id, data: { escrowState: update.escrowState } }]
        : [],
    );
    if (messages.length > 0) await this.journal.announceAll(manager, messages);
    await this.log.policies(
      manager,
      stored.map(({ job }) => policyOf(job)),
    );
  }

  private async keepReplies(manager: EntityManager, stored: readonly Submitted[]): Promise<void> {
    const replies = stored.flatMap(({ reply, job, unplaced }) =>
      reply === null ? [] : [{ reply, answer: { ...jobView(job), unplaced } }],
    );
    if (replies.length === 0) return;
    const rows = replies.map(({ reply, answer }) => ({ ...reply.entry, status: reply.status, answer }) as object);
    const insert = manager.createQueryBuilder().insert().into(Idempotency).values(rows).orIgnore().returning('key');
    if (((await insert.execute()).raw as unknown[]).length < rows.length) throw new ReplyTaken();
  }
}

/** What the escrow of a new job says already. */
interface EscrowNews {
  readonly update: Partial<Job>;
  readonly data: Record<string, unknown>;
}

/** From here on the new rows keep their data sets from being deleted. @throws DatasetGone */
async function checkDatasets(manager: EntityManager, stored: readonly Submitted[]): Promise<void> {
  const among = In([...new Set(stored.map(({ job }) => job.datasetId))]);
  const gone = await manager.findOne(Dataset, { where: { id: among, deletedAt: Not(IsNull()) }, select: { id: true } });
  if (gone !== null) throw new DatasetGone(gone.id);
}

/** A data set was deleted between the look at it and the job. */
class DatasetGone extends Error {}

/** Something was answered under one of the idempotency keys. */
class ReplyTaken extends Error {}

/** Of submissions that exclude each other the first, and the others. */
function withoutTwins(all: readonly Submitted[]): { firsts: Submitted[]; twins: Submitted[] } {
  const seen = new Set<string>();
  const firsts: Submitted[] = [];
  const twins: Submitted[] = [];
  for (const one of all) {
    const { job, reply } = one;
    const names = [job.id, job.escrowId, ...(reply === null ? [] : [`${reply.entry.tenant} ${reply.entry.key}`])];
    (names.some((name) => seen.has(name)) ? twins : firsts).push(one);
    for (const name of names) seen.add(name);
  }
  return { firsts, twins };
}

/** Submitted before: by this very request, or not. */
function answerFor({ principal, job }: Submitted, earlier: Job): Outcome<Job> {
  const isSame = earlier.tenant === principal.tenant && earlier.idempotencyKey === job.idempotencyKey;
  return isSame ? { value: earlier } : { error: duplicate(job.id) };
}

/** Twins in other transactions: PostgreSQL's deadlock, a reply that was there first, or a data set that is gone. */
function isContended(error: unknown): boolean {
  if (error instanceof ReplyTaken || error instanceof DatasetGone) return true;
  return error instanceof QueryFailedError && (error.driverError as { code?: string }).code === '40P01';
}

export function datasetUnknown(id: string) {
  return refusal('JOB_DATASET_UNKNOWN', {
    expected: 'a data set of this tenant',
    got: id,
    rule: 'apps/control-plane/README.md, submission',
    action: 'Register the data set first.',
  });
}

function duplicate(jobId: string) {
  return refusal('JOB_DUPLICATE', {
    expected: 'a job and an escrow that were not submitted before',
    got: jobId,
    rule: 'apps/control-plane/README.md, submission',
    action: 'Choose another salt to run the same job again.',
  });
}

function policyOf(job: Job): DuePolicy {
  return { digest: to0x(openJob(job).spec.policyDigest), job: job.id };
}
