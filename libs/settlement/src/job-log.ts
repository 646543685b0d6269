/**
 * Events of single jobs. They are looked for between the block of open and the newest one, by pages, since nodes refuse
 * long ranges; where a job was opened follows from the time of its state (S-M16). contracts/SPEC.md §18a.
 */
import type { Interface, LogDescription, Provider } from 'ethers';
import { to0x } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';

import { blockAtTime, lastLog, type LogFilter } from './logs.js';

export interface JobEventLog {
  readonly txHash: string;
  readonly blockNumber: number;
  readonly args: LogDescription['args'];
}

/** Where events of jobs come from. */
export interface EventSource {
  readonly address: string;
  readonly abi: Interface;
  /** Indexed parameters before the job, as words. */
  readonly before: readonly string[];
}

/** A reorganisation may put the same transaction into an earlier block. */
const reorganisedBlocksMax = 128;

export class JobLog {
  /** Block of open by job. */
  readonly #opened = new Map<string, number>();

  constructor(
    private readonly provider: Provider,
    private readonly settlement: EventSource,
    /** First block that can hold an event. */
    private readonly firstBlock: number,
    /** Asked for at once; absent: 2,000. */
    private readonly pageBlocks?: number,
  ) {}

  /**
   * @param since of the job's present state, unix seconds
   * @returns undefined where the job was never opened
   */
  async opened(terms: Terms, since: number): Promise<JobEventLog | undefined> {
    const head = await this.provider.getBlockNumber();
    const latest = await blockAtTime(this.provider, Math.min(terms.acceptBy, since), this.firstBlock, head);
    const filter = this.#filter(this.settlement, 'JobOpened', terms);
    const log = await lastLog(this.provider, filter, this.#from(terms), latest, this.pageBlocks);
    if (log === undefined) return undefined;
    this.#opened.set(to0x(escrowIdOf(terms)), log.blockNumber);
    return read(this.settlement, log);
  }

  /** The latest of this name. @param indexed  parameters after the job, as words */
  async last(
    source: EventSource,
    event: string,
    terms: Terms,
    since: number,
    indexed: readonly (string | null)[] = [],
  ): Promise<JobEventLog | undefined> {
    const from = await this.#openBlock(terms, since);
    if (from === undefined) return undefined;
    const head = await this.provider.getBlockNumber();
    const filter = this.#filter(source, event, terms, indexed);
    const log = await lastLog(this.provider, filter, from, head, this.pageBlocks);
    return log && read(source, log);
  }

  async #openBlock(terms: Terms, since: number): Promise<number | undefined> {
    const isKnown = this.#opened.has(to0x(escrowIdOf(terms)));
    if (isKnown || (await this.opened(terms, since)) !== undefined) return this.#from(terms);
    return undefined;
  }

  #from(terms: Terms): number {
    const known = this.#opened.get(to0x(escrowIdOf(terms)));
    return known === undefined ? this.firstBlock : Math.max(this.firstBlock, known - reorganisedBlocksMax);
  }

  #filter(
    { address, abi, before }: EventSource,
    event: string,
    terms: Terms,
    indexed: readonly (string | null)[] = [],
  ): LogFilter {
    return { address, topics: [abi.getEvent(event)!.topicHash, ...before, to0x(escrowIdOf(terms)), ...indexed] };
  }
}

function read(
  { abi }: EventSource,
  log: Parameters<Interface['parseLog']>[0] & { transactionHash: string; blockNumber: number },
): JobEventLog {
  return { txHash: log.transactionHash, blockNumber: log.blockNumber, args: abi.parseLog(log)!.args };
}
