/** What a webhook and its deliveries look like from outside. */
import { z } from 'zod';
import type { Webhook, WebhookDelivery } from '#libs/persistence';

export const WebhookView = z
  .object({
    id: z.string(),
    url: z.string(),
    states: z.array(z.string()),
    createdAt: z.string(),
    /** Set when the receiver said that it is gone (410). */
    disabledAt: z.string().nullable(),
  })
  .meta({ id: 'Webhook' });
export type WebhookView = z.infer<typeof WebhookView>;

export const DeliveryView = z
  .object({
    id: z.string(),
    /** The `webhook-id` of every attempt. */
    messageId: z.string(),
    attempts: z.int(),
    createdAt: z.string(),
    /** null when it is delivered or given up. */
    nextAt: z.string().nullable(),
    endedAt: z.string().nullable(),
    /** HTTP status or code of the last attempt. */
    lastOutcome: z.string().nullable(),
    /** The body, as it is sent. */
    body: z.string(),
  })
  .meta({ id: 'WebhookDelivery' });
export type DeliveryView = z.infer<typeof DeliveryView>;

export const WebhookId = z.string().regex(/^wh_[0-9a-f]{24}$/);
export const DeliveryId = z.string().regex(/^[1-9][0-9]{0,17}$/);

export function webhookView({ id, url, states, createdAt, disabledAt }: Webhook): WebhookView {
  return { id, url, states, createdAt: createdAt.toISOString(), disabledAt: disabledAt?.toISOString() ?? null };
}

export function deliveryView(delivery: WebhookDelivery): DeliveryView {
  const { id, attempts, createdAt, nextAt, endedAt, lastOutcome, body } = delivery;
  return {
    id,
    messageId: `msg_${id}`,
    attempts,
    createdAt: createdAt.toISOString(),
    nextAt: endedAt === null ? nextAt.toISOString() : null,
    endedAt: endedAt?.toISOString() ?? null,
    lastOutcome,
    body,
  };
}
