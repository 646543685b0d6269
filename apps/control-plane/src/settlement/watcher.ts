/**
 * Follows the contract's events up to the last confirmed block. Position and events are stored in one transaction, so
 * nothing is lost or counted twice; when a stored block is no longer in the chain, everything above the last common
 * block is forgotten and read again. An unreachable chain changes nothing and is retried with growing pauses.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, In, MoreThan, type EntityManager } from 'typeorm';
import { CollateralError } from '#attestation';
import { ChainCursor, EscrowEventRecord, Job } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import { Clock } from '../clock.js';
import type { Config } from '../config.js';
import { OutboxRelay } from '../events/outbox-relay.js';
import { Periodic } from '../events/periodic.js';
import { JobJournal } from '../jobs/journal.js';
import { CONFIG, ESCROW_READER, LOGGER, METRICS } from '../tokens.js';
import { EscrowProjection } from './escrow-projection.js';
import type { Block, EscrowEvent, EscrowReader } from './escrow-reader.js';

const blocksPerRead = 2000;
/** How far back a reorganisation is searched when the last stored block vanished. */
const rewindBlocks = 128;

export interface ChainStatus {
  readonly state: 'off' | 'starting' | 'ok' | 'degraded';
  readonly block: number | null;
  /** Unix seconds of the last successful read. */
  readonly readAt: number | null;
  readonly code: string | null;
}

@Injectable()
export class EscrowWatcher implements OnApplicationBootstrap, OnApplicationShutdown {
  #status: ChainStatus = { state: 'starting', block: null, readAt: null, code: null };
  readonly #loop: Periodic | null;

  constructor(
    private readonly database: DataSource,
    private readonly projection: EscrowProjection,
    private readonly journal: JobJournal,
    private readonly relay: OutboxRelay,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ESCROW_READER) private readonly reader: EscrowReader,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { chain } = config;
    if (chain === null) this.#status = { ...this.#status, state: 'off' };
    this.#loop =
      chain === null ? null : new Periodic('chain watcher', chain.pollMilliseconds, () => this.poll(), logger);
  }

  get status(): ChainStatus {
    return this.#status;
  }

  onApplicationBootstrap(): void {
    this.#loop?.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop?.stop();
    this.reader.close();
  }

  /** One look at the chain. @throws CollateralError when it cannot be read */
  async poll(): Promise<void> {
    try {
      const block = await this.catchUp();
      this.#status = { state: 'ok', block, readAt: this.clock.at(), code: null };
      if (block !== null) this.metrics.chainBlock.set(block);
    } catch (error) {
      this.metrics.chainErrors.inc();
      const code = error instanceof CollateralError ? error.code : 'INTERNAL';
      this.#status = { ...this.#status, state: 'degraded', code };
      throw error;
    }
  }

  private async catchUp(): Promise<number | null> {
    const confirmed = (await this.reader.headNumber()) - this.config.chain!.confirmations;
    for (;;) {
      const position = await this.position(confirmed);
      if (confirmed <= position) return position < 0 ? null : position;
      const to = Math.min(confirmed, position + blocksPerRead);
      const range = await this.readRange(position + 1, to);
      if (range === null) return position;
      await this.store(range.last, range.events);
    }
  }

  /** The last stored block that is still in the chain. */
  private async position(confirmed: number): Promise<number> {
    const { contract } = this.reader;
    const start = this.config.chain!.startBlock - 1;
    const cursor = await this.database.manager.findOneBy(ChainCursor, { contract });
    if (cursor === null) return start;
    const block = await this.reader.block(cursor.blockNumber);
    if (block?.hash === cursor.blockHash) return cursor.blockNumber;
    return this.rewind(Math.max(start, cursor.blockNumber - rewindBlocks), confirmed);
  }

  /**
   * Forgets what lies above `back` and stores what the chain has there now, in one transaction: a job whose events
   * merely moved to other blocks is never seen without them.
   */
  private async rewind(back: number, confirmed: number): Promise<number> {
    const to = Math.min(confirmed, back + blocksPerRead);
    const range = to > back ? await this.readRange(back + 1, to) : null;
    const { last, events } = range ?? { last: null, events: [] };
    await this.database.transaction(async (manager) => {
      const gone = await manager.findBy(EscrowEventRecord, { blockNumber: MoreThan(back) });
      await manager.delete(EscrowEventRecord, { blockNumber: MoreThan(back) });
      await manager.delete(ChainCursor, { contract: this.reader.contract });
      if (last !== null) await this.write(manager, last, events);
      await this.projectAll(
        manager,
        [...gone, ...events].map((event) => event.escrowId),
      );
    });
    this.relay.kick();
    this.logger.warn('the chain was reorganised', { back, to: last?.number ?? null });
    return last?.number ?? this.config.chain!.startBlock - 1;
  }

  /**
   * Events and the block that they end with, of one branch; null when the chain is not that long.
   * @throws CollateralError CHAIN_RACE when the chain took another branch meanwhile: the next look reads it again
   */
  private async readRange(from: number, to: number): Promise<{ last: Block; events: EscrowEvent[] } | null> {
    const last = await this.reader.block(to);
    if (last === null) return null;
    const events = await this.reader.events(from, to);
    if ((await this.reader.block(to))?.hash === last.hash) return { last, events };
    throw new CollateralError('CHAIN_RACE', {
      expected: `blocks ${from} to ${to} to stay while they are read`,
      got: 'another branch',
      rule: 'settlement §18',
      action: 'Nothing; the control plane reads them again.',
    });
  }

  private async store(last: Block, events: readonly EscrowEvent[]): Promise<void> {
    await this.database.transaction(async (manager) => {
      await this.write(manager, last, events);
      await this.projectAll(
        manager,
        events.map((event) => event.escrowId),
      );
    });
    if (events.length > 0) this.relay.kick();
  }

  private async write(manager: EntityManager, last: Block, events: readonly EscrowEvent[]): Promise<void> {
    await this.move(manager, last);
    if (events.length === 0) return;
    await manager
      .createQueryBuilder()
      .insert()
      .into(EscrowEventRecord)
      .values(events.map((event) => ({ ...event, data: event.data as object })))
      .orIgnore()
      .execute();
  }

  private async move(manager: EntityManager, block: Block): Promise<void> {
    const row = {
      contract: this.reader.contract,
      blockNumber: block.number,
      blockHash: block.hash,
      updatedAt: this.clock.now(),
    };
    await manager.upsert(ChainCursor, row, ['contract']);
  }

  private async projectAll(manager: EntityManager, escrowIds: readonly string[]): Promise<void> {
    if (escrowIds.length === 0) return;
    const jobs = await manager.find(Job, { where: { escrowId: In([...new Set(escrowIds)]) }, order: { id: 'ASC' } });
    for (const { id } of jobs) await this.projection.project(manager, await this.journal.lock(manager, id));
  }
}
