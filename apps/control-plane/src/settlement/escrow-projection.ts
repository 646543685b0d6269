/** What the stored events of an escrow mean for its job: a pure fold, and its application in one transaction. */
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { EscrowEventRecord, Job, Lease } from '#libs/persistence';
import { Clock } from '../clock.js';
import { JobJournal, systemCause } from '../jobs/journal.js';
import { leasedStates, type JobState, type JobTrigger } from '../jobs/state-machine.js';
import { readTerms } from './escrow-terms.js';

/** In the order of the contract's enumeration. */
export const escrowStates = [
  'none',
  'open',
  'accepted',
  'started',
  'committed',
  'settled',
  'stopped',
  'aborted',
  'abandoned',
  'undelivered',
  'slashed',
  'voided',
] as const;
export type EscrowState = (typeof escrowStates)[number];

export interface EscrowSummary {
  readonly state: EscrowState;
  /** Wei that JobOpened escrowed; null before. */
  readonly price: bigint | null;
  /** Who accepted; null before. */
  readonly provider: string | null;
  /** Transaction of the last event. */
  readonly transaction: string | null;
}

const liveStates: readonly EscrowState[] = ['none', 'open', 'accepted', 'started', 'committed'];

/** @param events  of one escrow, in the order of the chain; names and fields of settlement §16 */
export function summarise(events: readonly Pick<EscrowEventRecord, 'name' | 'data' | 'transaction'>[]): EscrowSummary {
  let summary: EscrowSummary = { state: 'none', price: null, provider: null, transaction: null };
  for (const { name, data, transaction } of events) {
    if (name === 'JobOpened')
      summary = { ...summary, state: 'open', price: BigInt(String(data['price'])), transaction };
    if (name === 'JobAccepted')
      summary = { ...summary, state: 'accepted', provider: String(data['provider']), transaction };
    if (name === 'JobStarted') summary = { ...summary, state: 'started', transaction };
    if (name === 'JobCommitted') summary = { ...summary, state: 'committed', transaction };
    if (name === 'JobEnded') summary = { ...summary, state: endState(data['state']), transaction };
  }
  return summary;
}

function endState(index: unknown): EscrowState {
  const found = escrowStates[Number(index)];
  if (found === undefined || liveStates.includes(found)) throw new Error(`JobEnded with state ${String(index)}`);
  return found;
}

@Injectable()
export class EscrowProjection {
  constructor(
    private readonly journal: JobJournal,
    private readonly clock: Clock,
  ) {}

  /** @param job  locked by this transaction */
  async project(manager: EntityManager, job: Job): Promise<void> {
    const events = await manager.find(EscrowEventRecord, {
      where: { escrowId: job.escrowId },
      order: { blockNumber: 'ASC', logIndex: 'ASC' },
    });
    const summary = summarise(events);
    const terms = readTerms(job.terms);
    const funded = summary.price !== null && summary.price >= terms.price;
    const provider = summary.provider ?? terms.provider;
    const changes = { escrowState: summary.state, funded, provider };
    for (;;) {
      const trigger = triggerOf(job.state as JobState, summary.state);
      if (trigger === null) break;
      await this.end(manager, job, trigger, summary, changes);
    }
    await this.note(manager, job, summary, changes);
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
    await this.journal.apply(manager, job, trigger, systemCause(code, { transaction: summary.transaction }), settled);
    if (leaseId !== null) {
      const ended = { state: 'cancelled' as const, endedAt: this.clock.now(), endCode: code ?? null };
      await manager.update(Lease, { id: leaseId, state: 'active' }, ended);
    }
  }

  private async note(manager: EntityManager, job: Job, summary: EscrowSummary, changes: Partial<Job>): Promise<void> {
    const waiting = job.state === 'submitted' && (job.code === null || job.code.startsWith('ESCROW_'));
    const code = waiting ? waitingCode(summary, changes.funded === true) : job.code;
    const update = { ...changes, code };
    const changed = Object.entries(update).some(([name, value]) => job[name as keyof Job] !== value);
    if (!changed) return;
    Object.assign(job, update);
    await manager.update(Job, { id: job.id }, { ...update, updatedAt: this.clock.now() } as object);
    await this.journal.record(manager, job.id, 'escrow', { ...update, transaction: summary.transaction });
    await this.journal.announce(manager, 'escrow.changed.v1', job.id, { escrowState: summary.state });
  }
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
  // A node that stopped the run on chain reports the cause itself; its lease decides.
  if (escrow === 'settled' || (isLeased && escrow === 'stopped')) return null;
  if (!isLive && (isLeased || job === 'submitted')) return escrow === 'aborted' ? 'cancel' : 'fail';
  return null;
}
