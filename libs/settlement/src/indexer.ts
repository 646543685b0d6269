/**
 * Follows the escrow's events block range by block range. What it stored is undone when the chain takes another
 * branch, so the store always equals one branch of the chain up to its cursor.
 */
import type { Provider } from 'ethers';
import { CollateralError } from '#attestation';
import { errorAbi } from './contracts.js';
import type { Deployment } from './deploy.js';
import { readEvent, type EscrowEvent } from './events.js';
import { chainFailure } from './failure.js';

export interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

/** Where the events go; both writes are atomic. */
export interface EventStore {
  /** Cursors that were stored, the latest first; at least as many as reorganisations are deep. */
  cursors(): Promise<readonly BlockRef[]>;
  append(events: readonly EscrowEvent[], cursor: BlockRef): Promise<void>;
  /** Drops all events and cursors above this block. */
  rewind(toBlock: number): Promise<void>;
}

export interface IndexerOptions {
  /** Blocks that must lie on top of an event before it is stored. */
  readonly confirmations?: number;
  /** Blocks asked for at once. */
  readonly rangeBlocks?: number;
}

export class Indexer {
  readonly #confirmations: number;
  readonly #rangeBlocks: number;

  constructor(
    readonly deployment: Deployment,
    readonly provider: Provider,
    readonly store: EventStore,
    options: IndexerOptions = {},
  ) {
    this.#confirmations = options.confirmations ?? 1;
    this.#rangeBlocks = options.rangeBlocks ?? 2000;
  }

  /**
   * One step: rewinds if the chain changed below the cursor, else stores the next range.
   * @returns whether there may be more to do now
   * @throws CollateralError CHAIN_UNREACHABLE, CHAIN_RACE when the chain changed during the step: call again
   */
  async step(): Promise<boolean> {
    try {
      const cursors = await this.store.cursors();
      const base = await this.#commonBlock(cursors);
      if (cursors.length > 0 && base !== cursors[0]!.number) {
        await this.store.rewind(base);
        return true;
      }
      const head = (await this.provider.getBlockNumber()) - this.#confirmations + 1;
      const from = cursors.length > 0 ? base + 1 : this.deployment.fromBlock;
      const to = Math.min(head, from + this.#rangeBlocks - 1);
      if (to < from) return false;
      await this.#storeRange(from, to, cursors[0]);
      return to < head;
    } catch (error) {
      throw chainFailure(error, 'index', errorAbi);
    }
  }

  async catchUp(): Promise<void> {
    while (await this.step());
  }

  /** The highest stored cursor that is still on the chain; the block before the first when none is. */
  async #commonBlock(cursors: readonly BlockRef[]): Promise<number> {
    for (const cursor of cursors) {
      if ((await this.#hashOf(cursor.number)) === cursor.hash) return cursor.number;
    }
    return this.deployment.fromBlock - 1;
  }

  async #storeRange(from: number, to: number, below: BlockRef | undefined): Promise<void> {
    const hash = await this.#hashOf(to);
    const filter = { address: this.deployment.settlement, fromBlock: from, toBlock: to };
    const logs = await this.provider.getLogs(filter);
    const unchanged =
      hash !== undefined &&
      (await this.#hashOf(to)) === hash &&
      (below === undefined || (await this.#hashOf(below.number)) === below.hash);
    if (!unchanged) {
      throw new CollateralError('CHAIN_RACE', {
        expected: `blocks ${from} to ${to} to stay while they are read`,
        got: 'another branch',
        rule: 'settlement §18',
        action: 'try again',
      });
    }
    const events = logs.map(readEvent).filter((event) => event !== undefined);
    events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    await this.store.append(events, { number: to, hash });
  }

  async #hashOf(number: number): Promise<string | undefined> {
    return (await this.provider.getBlock(number))?.hash ?? undefined;
  }
}

/** Keeps everything in memory: for short-lived tools and tests. */
export class MemoryEventStore implements EventStore {
  #events: EscrowEvent[] = [];
  #cursors: BlockRef[] = [];

  get events(): readonly EscrowEvent[] {
    return this.#events;
  }

  async cursors(): Promise<readonly BlockRef[]> {
    return this.#cursors;
  }

  async append(events: readonly EscrowEvent[], cursor: BlockRef): Promise<void> {
    this.#events.push(...events);
    this.#cursors.unshift(cursor);
  }

  async rewind(toBlock: number): Promise<void> {
    this.#events = this.#events.filter((event) => event.blockNumber <= toBlock);
    this.#cursors = this.#cursors.filter((cursor) => cursor.number <= toBlock);
  }
}
