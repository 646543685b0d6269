/** Follows the contract's events. An unreachable chain changes nothing and is retried with growing pauses. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CollateralError } from '#attestation/base';
import { Indexer, type ChainReader } from '#libs/settlement';
import type { Logger, Metrics } from '#libs/telemetry';
import type { Config } from '../core/config/config.js';
import { ESCROW_READER, CONFIG, LOGGER, METRICS } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { Periodic } from '../core/timing/periodic.js';
import { EscrowEventStore } from './event-store.js';

interface ChainStatus {
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
  readonly #indexer: Indexer;

  constructor(
    store: EscrowEventStore,
    private readonly clock: Clock,
    @Inject(CONFIG) config: Config,
    @Inject(ESCROW_READER) private readonly reader: ChainReader,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    const { chain } = config;
    if (chain === null) this.#status = { ...this.#status, state: 'off' };
    const { startBlock = 0, confirmations = 0 } = chain ?? {};
    this.#indexer = new Indexer(reader, store, { startBlock, confirmations });
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
      const block = await this.#indexer.catchUp();
      this.#status = { state: 'ok', block, readAt: this.clock.at(), code: null };
      if (block !== null) this.metrics.chainBlock.set(block);
    } catch (error) {
      this.metrics.chainErrors.inc();
      const code = error instanceof CollateralError ? error.code : 'INTERNAL';
      this.#status = { ...this.#status, state: 'degraded', code };
      throw error;
    }
  }
}
