/**
 * Follows the escrow's events block range by block range. When the chain takes another branch, what was stored of the
 * old one is replaced in one step, so the store always equals one branch of the chain up to its position.
 */
import { CollateralError } from '#attestation/base';
import type { BlockRef, ChainReader } from './chain-reader.js';
import type { EscrowEvent } from './events.js';

/** What an indexer stores at once. */
export interface Advance {
  /** The position that this follows; the store has another one when somebody else was faster. */
  readonly from: BlockRef | null;
  /** Events above this block are of a branch that the chain has left. */
  readonly keep: number;
  /** All events of the blocks above `keep`, up to `to`. */
  readonly events: readonly EscrowEvent[];
  readonly to: BlockRef;
}

/** Where the events go. */
export interface EventStore {
  /** The last block whose events are stored. */
  position(): Promise<BlockRef | null>;
  /** The highest block at or below this number of which events are stored. */
  highestAt(number: number): Promise<BlockRef | null>;
  /** Whole or not at all. @returns false, and stores nothing, when the position is no longer `advance.from` */
  advance(advance: Advance): Promise<boolean>;
}

interface IndexerOptions {
  /** First block that can hold an event. */
  readonly startBlock: number;
  /** Blocks that must lie on top of an event before it is stored; 0: none. */
  readonly confirmations?: number;
  /** Blocks asked for at once. */
  readonly rangeBlocks?: number;
}

/** How far back a branch is looked for at once. */
const rewindBlocks = 128;

export class Indexer {
  /** The head up to which everything is stored: under the same hash lies the same branch. */
  #done: { readonly hash: string; readonly stored: number | null } | null = null;

  constructor(
    readonly reader: ChainReader,
    readonly store: EventStore,
    readonly options: IndexerOptions,
  ) {}

  /**
   * Reads up to the last block with its confirmations.
   * @returns the number of the last block that is stored; null when there is none
   * @throws CollateralError CHAIN_UNREACHABLE; CHAIN_RACE when the chain changed while it was read: call again
   */
  async catchUp(): Promise<number | null> {
    const { confirmations = 0, rangeBlocks = 2000 } = this.options;
    const head = await this.reader.head();
    if (head.hash === this.#done?.hash) return this.#done.stored;
    const confirmed = head.number - confirmations;
    for (;;) {
      const from = await this.store.position();
      const keep = await this.#commonBlock(from);
      if (confirmed <= keep) {
        const stored = from?.number ?? null;
        this.#done = { hash: head.hash, stored };
        return stored;
      }
      const range = await this.#read(keep + 1, Math.min(confirmed, keep + rangeBlocks));
      if (range === null) return from?.number ?? null;
      await this.store.advance({ from, keep, ...range });
    }
  }

  /** The highest block that the store and the chain have in common, as far as events tell. */
  async #commonBlock(position: BlockRef | null): Promise<number> {
    const before = this.options.startBlock - 1;
    if (position === null) return before;
    if (await this.#isOnChain(position)) return position.number;
    for (let back = position.number - rewindBlocks; back > before; back -= rewindBlocks) {
      const stored = await this.store.highestAt(back);
      if (stored === null || (await this.#isOnChain(stored))) return back;
    }
    return before;
  }

  async #isOnChain({ number, hash }: BlockRef): Promise<boolean> {
    return (await this.reader.block(number))?.hash === hash;
  }

  /** Events and the block that they end with, of one branch; null when the chain is not that long. */
  async #read(from: number, last: number): Promise<{ to: BlockRef; events: EscrowEvent[] } | null> {
    const to = await this.reader.block(last);
    if (to === null) return null;
    const events = await this.reader.events(from, last);
    if (await this.#isOnChain(to)) return { to, events };
    throw new CollateralError('CHAIN_RACE', {
      expected: `blocks ${from} to ${last} to stay while they are read`,
      got: 'another branch',
      rule: 'contracts/SPEC.md §18',
      action: 'nothing: they are read again',
    });
  }
}

/** Keeps everything in memory: for short-lived tools and tests. */
export class MemoryEventStore implements EventStore {
  #events: EscrowEvent[] = [];
  #position: BlockRef | null = null;

  get events(): readonly EscrowEvent[] {
    return this.#events;
  }

  async position(): Promise<BlockRef | null> {
    return this.#position;
  }

  async highestAt(number: number): Promise<BlockRef | null> {
    const event = this.#events.findLast(({ blockNumber }) => blockNumber <= number);
    return event === undefined ? null : { number: event.blockNumber, hash: event.blockHash };
  }

  async advance({ from, keep, events, to }: Advance): Promise<boolean> {
    if (from?.hash !== this.#position?.hash) return false;
    this.#events = [...this.#events.filter((event) => event.blockNumber <= keep), ...events];
    this.#position = to;
    return true;
  }
}
