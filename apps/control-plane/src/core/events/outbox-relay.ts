/**
 * Publishes outbox rows after their transaction committed, at least once. Any number of replicas does so at once: each
 * takes the oldest rows that no other has in hand. Who waits in this process is woken even while the bus is away; the
 * rows then stay until it has taken them.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { OutboxMessage } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import { LOGGER, METRICS } from '../config/tokens.js';
import { Clock } from '../timing/clock.js';
import { Periodic } from '../timing/periodic.js';
import { dispatchTopic, jobTopic, Signals } from '../timing/signals.js';
import { Bus } from './bus.js';

const batchSize = 200;
const pollMilliseconds = 1000;
/** Changes that come within this time are told of together. */
const gatherMilliseconds = 20;

@Injectable()
export class OutboxRelay implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;

  constructor(
    private readonly database: DataSource,
    private readonly signals: Signals,
    private readonly bus: Bus,
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Periodic('outbox relay', pollMilliseconds, () => this.publish(), logger, gatherMilliseconds);
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
      for (const message of batch) this.signals.hear(jobTopic(message.subject));
      if (batch.length > 0) {
        this.signals.hear(dispatchTopic);
        if (this.bus.isUsed) await this.bus.publish(batch);
        await manager.update(OutboxMessage, { id: In(batch.map(({ id }) => id)) }, { publishedAt: this.clock.now() });
      }
      return batch;
    });
    this.metrics.outboxBacklog.set(messages.length === batchSize ? batchSize : 0);
    return messages.length;
  }
}
