/** Where tenants want to hear of their jobs, and what they are to hear. */
import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { type Job, Webhook, WebhookDelivery } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';

/** Webhooks of one tenant. */
const webhooksMax = 10;
/** Deliveries that a listing shows, newest first. */
const deliveriesShown = 50;

interface NewWebhook {
  readonly url: string;
  /** States that are told; empty: every one. */
  readonly states: readonly string[];
}

@Injectable()
export class WebhookStore {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
  ) {}

  /** @throws Rejection WEBHOOK_QUOTA */
  async add(caller: Principal, { url, states }: NewWebhook): Promise<Webhook> {
    return this.database.transaction(async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`webhooks of ${caller.tenant}`]);
      const count = await manager.countBy(Webhook, { tenant: caller.tenant });
      if (count >= webhooksMax) {
        throw refusal('WEBHOOK_QUOTA', {
          expected: `at most ${webhooksMax} webhooks of a tenant`,
          got: 'one more',
          rule: 'apps/control-plane/README.md, webhooks',
          action: 'Remove one first.',
        });
      }
      const webhook = manager.create(Webhook, {
        id: `wh_${randomBytes(12).toString('hex')}`,
        tenant: caller.tenant,
        url,
        states: [...new Set(states)],
        secret: randomBytes(32),
        createdAt: this.clock.now(),
        disabledAt: null,
      });
      await manager.insert(Webhook, webhook);
      return webhook;
    });
  }

  list(caller: Principal): Promise<Webhook[]> {
    return this.database.manager.find(Webhook, { where: { tenant: caller.tenant }, order: { createdAt: 'ASC' } });
  }

  /** Deliveries that are not out yet go with it. @throws Rejection WEBHOOK_UNKNOWN */
  async remove(caller: Principal, id: string): Promise<void> {
    await this.database.transaction(async (manager) => {
      const { affected } = await manager.delete(Webhook, { id, tenant: caller.tenant });
      if (affected !== 1) throw unknownWebhook();
      await manager.delete(WebhookDelivery, { webhookId: id });
    });
  }

  /** @throws Rejection WEBHOOK_UNKNOWN */
  async deliveries(caller: Principal, id: string): Promise<WebhookDelivery[]> {
    const { manager } = this.database;
    if (!(await manager.existsBy(Webhook, { id, tenant: caller.tenant }))) throw unknownWebhook();
    return manager.find(WebhookDelivery, { where: { webhookId: id }, order: { id: 'DESC' }, take: deliveriesShown });
  }

  /** Tries an ended delivery again, under the same message id. @throws Rejection WEBHOOK_UNKNOWN */
  async retry(caller: Principal, id: string, deliveryId: string): Promise<void> {
    await this.deliveries(caller, id);
    const again = { endedAt: null, attempts: 0, nextAt: this.clock.now() };
    const { affected } = await this.database.manager.update(WebhookDelivery, { id: deliveryId, webhookId: id }, again);
    if (affected !== 1) throw unknownWebhook();
  }
}

interface Change {
  readonly job: Pick<Job, 'id' | 'tenant'>;
  readonly to: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** Writes what the tenants' webhooks are to hear of changes, in the transaction of the changes. */
export async function enqueueWebhooks(manager: EntityManager, steps: readonly Change[]): Promise<void> {
  const bodies = steps.map(({ job, to, data, at }) =>
    JSON.stringify({ type: `job.${to}`, timestamp: at.toISOString(), data: { jobId: job.id, ...data } }),
  );
  await manager.query(
    `INSERT INTO webhook_delivery (webhook_id, body, attempts, created_at, next_at)
     SELECT w.id, c.body, 0, $1, $1
     FROM unnest($2::text[], $3::text[], $4::text[]) AS c(body, tenant, state) JOIN webhook w USING (tenant)
     WHERE w.disabled_at IS NULL AND (w.states = '[]'::jsonb OR w.states ? c.state)`,
    [steps[0]!.at, bodies, steps.map(({ job }) => job.tenant), steps.map(({ to }) => to)],
  );
}

function unknownWebhook() {
  return refusal('WEBHOOK_UNKNOWN', {
    expected: 'a webhook of this tenant, and a delivery of it',
    got: 'no such thing',
    rule: 'apps/control-plane/README.md, webhooks',
    action: 'List the webhooks that this key can see.',
  });
}
