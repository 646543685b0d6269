/** Publishes outbox rows after their transaction committed, at least once and in order of their ids. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { OutboxMessage } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import { Clock } from '../clock.js';
import { LOGGER, METRICS } from '../tokens.js';
import { Periodic } from './periodic.js';
import { dispatchTopic, jobTopic, Signals } from './signals.js';

const batchSize = 200;
const pollMilliseconds = 1000;

@Injectable()
export class OutboxRelay implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;

  constructor(
    private readonly database: DataSource,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Periodic('outbox relay', pollMilliseconds, () => this.publish(), logger);
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  kick(): void {
    this.#loop.kick();
  }

  async publish(): Promise<void> {
    for (let count = batchSize; count === batchSize;) count = await this.publishBatch();
  }

  private async publishBatch(): Promise<number> {
    const messages = await this.database.transaction(async (manager) => {
      const batch = await manager
        .createQueryBuilder(OutboxMessage, 'm')
        .where('m.published_at IS NULL')
        .orderBy('m.id')
        .limit(batchSize)
        .setLock('pessimistic_write')
        .setOnLocked('skip_locked')
        .getMany();
      for (const message of batch) this.signals.raise(jobTopic(message.subject));
      if (batch.length > 0) {
        this.signals.raise(dispatchTopic);
        await manager.update(OutboxMessage, { id: In(batch.map(({ id }) => id)) }, { publishedAt: this.clock.now() });
      }
      return batch;
    });
    this.metrics.outboxBacklog.set(messages.length === batchSize ? batchSize : 0);
    return messages.length;
  }
}
