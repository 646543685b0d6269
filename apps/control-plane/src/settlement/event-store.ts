/**
 * The escrow's events in the database. Position, events and what they mean for jobs are one transaction: a job whose
 * events merely moved to other blocks is never seen without them, and of several replicas one moves along.
 */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, LessThanOrEqual, MoreThan, type EntityManager } from 'typeorm';
import { ChainCursor, EscrowEventRecord, Job } from '#libs/persistence';
import type { Advance, BlockRef, ChainReader, EscrowEvent, EventStore } from '#libs/settlement';
import type { Logger } from '#libs/telemetry';
import { ESCROW_READER, LOGGER } from '../core/config/tokens.js';
import { OutboxRelay } from '../core/events/outbox-relay.js';
import { Clock } from '../core/timing/clock.js';
import { lockEvents } from '../jobs/escrow-lock.js';
import { EscrowProjection } from '../jobs/escrow-projection.js';
import { JobJournal } from '../jobs/journal.js';

@Injectable()
export class EscrowEventStore implements EventStore {
  constructor(
    private readonly database: DataSource,
    private readonly projection: EscrowProjection,
    private readonly journal: JobJournal,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(ESCROW_READER) private readonly reader: ChainReader,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async position(): Promise<BlockRef | null> {
    return blockOf(await this.database.manager.findOneBy(ChainCursor, { contract: this.reader.contract }));
  }

  async highestAt(number: number): Promise<BlockRef | null> {
    const found = await this.database.manager.findOne(EscrowEventRecord, {
      where: { blockNumber: LessThanOrEqual(number) },
      order: { blockNumber: 'DESC' },
    });
    return found && { number: found.blockNumber, hash: found.blockHash };
  }

  async advance({ from, keep, events, to }: Advance): Promise<boolean> {
    const isRewound = from !== null && keep < from.number;
    const rows = events.flatMap(rowOf);
    const changed = await this.database.transaction(async (manager) => {
      if (isRewound || rows.length > 0) await lockEvents(manager);
      if ((await this.lock(manager))?.hash !== from?.hash) return null;
      const above = { blockNumber: MoreThan(keep) };
      const gone = isRewound ? await manager.findBy(EscrowEventRecord, above) : [];
      if (isRewound) await manager.delete(EscrowEventRecord, above);
      await this.write(manager, rows, to);
      const escrows = new Set([...gone, ...rows].map(({ escrowId }) => escrowId));
      await this.projectAll(manager, [...escrows]);
      return escrows.size;
    });
    if (changed === null) return false;
    if (changed > 0) this.relay.kick();
    if (isRewound) this.logger.warn('the chain was reorganised', { keep, to: to.number });
    return true;
  }

  /** The position, which nobody else moves before this transaction ends. */
  private async lock(manager: EntityManager): Promise<BlockRef | null> {
    const { contract } = this.reader;
    const start = { contract, ...nowhere, updatedAt: this.clock.now() };
    await manager.createQueryBuilder().insert().into(ChainCursor).values([start]).orIgnore().execute();
    return blockOf(await manager.findOne(ChainCursor, { where: { contract }, lock: { mode: 'pessimistic_write' } }));
  }

  private async write(manager: EntityManager, rows: readonly EscrowEventRecord[], to: BlockRef): Promise<void> {
    const { contract } = this.reader;
    const cursor = { contract, blockNumber: to.number, blockHash: to.hash, updatedAt: this.clock.now() };
    await manager.upsert(ChainCursor, cursor, ['contract']);
    if (rows.length === 0) return;
    const values = rows.map((row) => ({ ...row, data: row.data as object }));
    await manager.createQueryBuilder().insert().into(EscrowEventRecord).values(values).orIgnore().execute();
  }

  private async projectAll(manager: EntityManager, escrowIds: readonly string[]): Promise<void> {
    if (escrowIds.length === 0) return;
    const jobs = await manager.find(Job, { where: { escrowId: In([...escrowIds]) }, order: { id: 'ASC' } });
    for (const { id } of jobs) await this.projection.project(manager, await this.journal.lock(manager, id));
  }
}

/** A position before the first block, for there to be a row that can be locked. */
const nowhere = { blockNumber: -1, blockHash: '' };

function blockOf(cursor: ChainCursor | null): BlockRef | null {
  if (cursor === null || cursor.blockHash === nowhere.blockHash) return null;
  return { number: cursor.blockNumber, hash: cursor.blockHash };
}

/** Events that are about no job are not kept. Addresses in lower case, as terms have them. */
function rowOf({ job, txHash, name, args, blockNumber, blockHash, logIndex }: EscrowEvent): EscrowEventRecord[] {
  if (job === null) return [];
  const entries = Object.entries(args).map(([member, value]) => [
    member,
    typeof value === 'string' ? value.toLowerCase() : value,
  ]);
  const data = Object.fromEntries(entries) as Record<string, unknown>;
  return [{ blockHash, logIndex, blockNumber, transaction: txHash, escrowId: job, name, data }];
}
