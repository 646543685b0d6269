/** What the stored events of an escrow mean for its job: a pure fold, and its application in one transaction. */
import { Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import { EscrowEventRecord, Job, Lease } from '#libs/persistence';
import {
  isPaidFor,
  projectJob,
  type EscrowEvent,
  type JobState as ChainState,
  type ProjectedJob,
} from '#libs/settlement';
import { Clock } from '../core/timing/clock.js';
import { drawnSegments, unprovedSegments } from './due-segments.js';
import { readStoredTerms, type EscrowTerms } from './escrow-terms.js';
import { JobJournal, systemCause } from './journal.js';
import { leasedStates, waitingStates, type JobState, type JobTrigger } from './state-machine.js';

/** The contract's states, as stored; an early stop by rule is `settled` too: it paid for the delivery. */
type EscrowState = Lowercase<ChainState>;

interface EscrowSummary {
  readonly state: EscrowState;
  /** Wei that JobOpened escrowed; null before. */
  readonly price: bigint | null;
  /** Who accepted; null before. */
  readonly provider: string | null;
  /** Transaction of the last event. */
  readonly transaction: string | null;
}

const liveStates: readonly EscrowState[] = ['none', 'open', 'accepted', 'started', 'committed'];

/** States in which the chain has the one run that counts. */
const overtaking: readonly EscrowState[] = ['committed', 'settled'];
const overtaken = {
  expected: 'the delivery of the run that the escrow has committed',
  got: 'no node that has the job: the one that committed it lost its lease, or this database is from before',
  action: 'Start the node that committed it: it tells its delivery again, and the job goes on (runbook, restore).',
};

/** Named in a reason, of however many there are. */
const namedMax = 16;

type StoredEvent = Pick<EscrowEventRecord, 'name' | 'data' | 'transaction' | 'blockNumber'>;

/** @param events  of one escrow, in the order of the chain */
export function projectStored(events: readonly StoredEvent[]): ProjectedJob | null {
  return projectJob(
    events.map(({ name, data, transaction, blockNumber }) => ({
      ...{ name, txHash: transaction, blockNumber },
      args: data as EscrowEvent['args'],
    })),
  );
}

/** What an escrow's events mean for the life of its job. */
export function summarise(events: readonly StoredEvent[]): EscrowSummary {
  const job = projectStored(events);
  if (job === null) return { state: 'none', price: null, provider: null, transaction: null };
  const { price, transaction } = job;
  const state = isPaidFor(job) ? 'settled' : (job.state.toLowerCase() as EscrowState);
  return { state, price, provider: state === 'open' ? null : job.provider, transaction };
}

@Injectable()
export class EscrowProjection {
  constructor(
    private readonly journal: JobJournal,
    private readonly clock: Clock,
  ) {}

  /** What the stored events say of each of these escrows. */
  async summaries(manager: EntityManager, escrowIds: readonly string[]): Promise<Map<string, EscrowSummary>> {
    const events = await manager.find(EscrowEventRecord, {
      where: { escrowId: In([...escrowIds]) },
      order: { blockNumber: 'ASC', logIndex: 'ASC' },
    });
    const byEscrow = new Map(escrowIds.map((id) => [id, [] as EscrowEventRecord[]]));
    for (const event of events) byEscrow.get(event.escrowId)!.push(event);
    return new Map([...byEscrow].map(([id, own]) => [id, summarise(own)]));
  }

  /** @param job  locked by this transaction */
  async project(manager: EntityManager, job: Job): Promise<void> {
    const summary = (await this.summaries(manager, [job.escrowId])).get(job.escrowId)!;
    const terms = readStoredTerms(job.terms);
    for (;;) {
      const trigger = triggerOf(job.state as JobState, summary.state);
      if (trigger === null) break;
      const { code: _, ...changes } = noteOf(job, summary, terms);
      await this.end(manager, job, trigger, summary, changes);
    }
    await this.note(manager, job, summary, noteOf(job, summary, terms));
  }

  /** What the chain has committed as the job's delivery, 0x-hexadecimal; null where it has none. */
  async committedDelivery(manager: EntityManager, job: Job): Promise<string | null> {
    if (job.escrowState !== 'committed' && job.escrowState !== 'settled') return null;
    return (await this.projected(manager, job))?.delivery ?? null;
  }

  /** Segments that the escrow drew, in order; null while none are. */
  async drawn(manager: EntityManager, job: Job): Promise<readonly number[] | null> {
    return drawnSegments(readStoredTerms(job.terms), await this.projected(manager, job));
  }

  private async projected(manager: EntityManager, { escrowId }: Job): Promise<ProjectedJob | null> {
    const order = { blockNumber: 'ASC', logIndex: 'ASC' } as const;
    return projectStored(await manager.find(EscrowEventRecord, { where: { escrowId }, order }));
  }

  /** Why a provider lost its stake; nothing where it did not. */
  private async missed(manager: EntityManager, job: Job, state: EscrowState) {
    const projected = state === 'slashed' ? await this.projected(manager, job) : null;
    if (projected === null) return {};
    const segments = unprovedSegments(readStoredTerms(job.terms), projected);
    const named = segments.slice(0, namedMax).join(', ');
    return {
      expected: 'a proof of every segment that was due, in time',
      got: `none of ${segments.length > namedMax ? `${named} and ${segments.length - namedMax} more` : named}`,
      action: 'The price and your part of the stake are yours: `veritrain job withdraw`. Submit the job again.',
      unproved: segments.slice(0, namedMax),
    };
  }

  private async end(
    manager: EntityManager,
    job: Job,
    trigger: JobTrigger,
    summary: EscrowSummary,
    changes: Partial<Job>,
  ): Promise<void> {
    const code = trigger === 'settle' ? undefined : `ESCROW_${summary.state.toUpperCase()}`;
    const settlementTransaction = trigger === 'settle' || trigger === 'dispute' ? summary.transaction : null;
    const { leaseId } = job;
    const settled = { ...changes, settlementTransaction, leaseId: null };
    const isOvertaken = trigger === 'fail' && overtaking.some((state) => state === summary.state);
    const missed = await this.missed(manager, job, summary.state);
    const reason = { transaction: summary.transaction, ...(isOvertaken && overtaken), ...missed };
    await this.journal.apply(manager, job, trigger, systemCause(code, reason), settled);
    if (leaseId !== null) {
      const ended = { state: 'cancelled' as const, endedAt: this.clock.now(), endCode: code ?? null };
      await manager.update(Lease, { id: leaseId, state: 'active' }, ended);
    }
  }

  private async note(manager: EntityManager, job: Job, summary: EscrowSummary, update: Note): Promise<void> {
    const changed = Object.entries(update).some(([name, value]) => job[name as keyof Job] !== value);
    if (!changed) return;
    Object.assign(job, update);
    await manager.update(Job, { id: job.id }, { ...update, updatedAt: this.clock.now() } as object);
    await this.journal.record(manager, job.id, 'escrow', { ...update, transaction: summary.transaction });
    await this.journal.announce(manager, 'escrow.changed.v1', job.id, { escrowState: summary.state });
  }
}

type Note = Pick<Job, 'escrowState' | 'funded' | 'provider' | 'code'>;

/** What a job's row says of its escrow. */
export function noteOf(
  job: Pick<Job, 'state' | 'code'>,
  summary: EscrowSummary,
  terms: Pick<EscrowTerms, 'price' | 'provider'>,
): Note {
  const funded = summary.price !== null && summary.price >= terms.price;
  const isWaiting = job.state === 'submitted' && (job.code === null || job.code.startsWith('ESCROW_'));
  return {
    escrowState: summary.state,
    funded,
    provider: summary.provider ?? terms.provider,
    code: isWaiting ? waitingCode(summary, funded) : job.code,
  };
}

function waitingCode(summary: EscrowSummary, funded: boolean): string | null {
  if (summary.price === null) return 'ESCROW_MISSING';
  return funded ? null : 'ESCROW_INSUFFICIENT';
}

/** What the escrow's state does to the job; null when nothing. */
export function triggerOf(job: JobState, escrow: EscrowState): JobTrigger | null {
  const isLive = liveStates.includes(escrow);
  if (job === 'delivered' && !isLive) return escrow === 'settled' ? 'settle' : 'dispute';
  if (job === 'settled' && escrow !== 'settled') return 'reorganise';
  const isLeased = leasedStates.some((state) => state === job);
  const isWaiting = waitingStates.some((state) => state === job);
  // What another node would bring is not what the chain has.
  if (isWaiting && overtaking.some((state) => state === escrow)) return 'fail';
  // A node that stopped the run on chain reports the cause itself; its lease decides.
  if (escrow === 'settled' || (isLeased && escrow === 'stopped')) return null;
  if (!isLive && (isLeased || isWaiting)) return escrow === 'aborted' ? 'cancel' : 'fail';
  return null;
}
