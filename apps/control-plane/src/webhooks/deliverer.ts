/**
 * Sends what webhooks are to hear, after Standard Webhooks 1.0: at least once, each message under one id and the same
 * bytes at every attempt, so that a receiver can drop what it has had.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Webhook as Signer } from 'standardwebhooks';
import { DataSource, In, LessThan } from 'typeorm';
import { Webhook, WebhookDelivery } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import type { Config } from '../core/config/config.js';
import { CONFIG, LOGGER } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { Periodic } from '../core/timing/periodic.js';
import { post } from './post.js';

/** Pauses after the first, second, … attempt, in seconds; after the last the delivery is given up. */
export const pausesSeconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400] as const;
/** Nobody else tries a delivery that is being tried; a replica that dies meanwhile is waited for this long. */
const claimSeconds = 30;
const batchSize = 16;
const pollMilliseconds = 1000;
const forgetMilliseconds = 3_600_000;
const keptSeconds = 30 * 86_400;

@Injectable()
export class WebhookDeliverer implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  readonly #housekeeping: Periodic;

  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Periodic('webhook deliverer', pollMilliseconds, () => this.deliver(), logger);
    this.#housekeeping = new Periodic('webhook housekeeping', forgetMilliseconds, () => this.forgetOld(), logger);
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
    this.#housekeeping.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#housekeeping.stop()]);
  }

  /** Tries everything that is due. */
  async deliver(): Promise<void> {
    for (let count = batchSize; count === batchSize;) {
      const due = await this.claim();
      await Promise.all(due.map((delivery) => this.attempt(delivery)));
      count = due.length;
    }
  }

  private async forgetOld(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - keptSeconds * 1000);
    await this.database.manager.delete(WebhookDelivery, { endedAt: LessThan(before) });
  }

  private claim(): Promise<WebhookDelivery[]> {
    const now = this.clock.now();
    return this.database.transaction(async (manager) => {
      const due = await manager
        .createQueryBuilder(WebhookDelivery, 'd')
        .where('d.ended_at IS NULL AND d.next_at <= :now', { now })
        .orderBy('d.next_at')
        .limit(batchSize)
        .setLock('pessimistic_write')
        .setOnLocked('skip_locked')
        .getMany();
      const nextAt = new Date(now.getTime() + claimSeconds * 1000);
      if (due.length > 0) await manager.update(WebhookDelivery, { id: In(due.map(({ id }) => id)) }, { nextAt });
      return due;
    });
  }

  private async attempt(delivery: WebhookDelivery): Promise<void> {
    const webhook = await this.database.manager.findOneBy(Webhook, { id: delivery.webhookId });
    if (webhook === null || webhook.disabledAt !== null) return this.end(delivery, 'WEBHOOK_GONE');
    const outcome = await this.send(webhook, delivery);
    if (/^2..$/.test(outcome)) return this.end(delivery, outcome);
    if (outcome === '410') {
      await this.database.manager.update(Webhook, { id: webhook.id }, { disabledAt: this.clock.now() });
      return this.end(delivery, outcome);
    }
    const pause = pausesSeconds[delivery.attempts];
    if (pause === undefined) return this.end(delivery, outcome);
    const nextAt = new Date(this.clock.now().getTime() + pause * 1000);
    const attempts = delivery.attempts + 1;
    await this.database.manager.update(
      WebhookDelivery,
      { id: delivery.id },
      { attempts, nextAt, lastOutcome: outcome },
    );
  }

  /** @returns the HTTP status, or the code of what went wrong before there was one */
  private async send(webhook: Webhook, { id, body }: WebhookDelivery): Promise<string> {
    const at = this.clock.now();
    const messageId = `msg_${id}`;
    const headers = {
      'webhook-id': messageId,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Signer(webhook.secret, { format: 'raw' }).sign(messageId, at, body),
    };
    const mayBePrivate = this.config.webhookTargets === 'any';
    try {
      return String(await post({ url: webhook.url, headers, body, mayBePrivate }));
    } catch (error) {
      const code = String((error as { code?: unknown }).code ?? 'WEBHOOK_FAILED').slice(0, 40);
      this.logger.warn('webhook not delivered', { webhook: webhook.id, delivery: id, code });
      return code;
    }
  }

  private async end({ id, attempts }: WebhookDelivery, outcome: string): Promise<void> {
    const ended = { attempts: attempts + 1, endedAt: this.clock.now(), lastOutcome: outcome };
    await this.database.manager.update(WebhookDelivery, { id }, ended);
  }
}
