/** The same webhooks over GraphQL. They are made over REST, which shows the secret once. */
import { UseFilters } from '@nestjs/common';
import { Args, ID, Mutation, Query, Resolver } from '@nestjs/graphql';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { WebhookStore } from '../../webhooks/webhook-store.js';
import {
  DeliveryId,
  DeliveryView,
  deliveryView,
  WebhookId,
  WebhookView,
  webhookView,
} from '../../webhooks/webhook.view.js';
import { ProblemFilter } from '../problem.filter.js';
import { read } from './arguments.js';
import { objectType } from './object-type.js';

const WebhookType = objectType('Webhook', WebhookView, { id: ID });
const DeliveryType = objectType('WebhookDelivery', DeliveryView, { id: ID });
const webhookId = (id: string): string => read(WebhookId, id, 'the id of a webhook');

@Resolver()
@UseFilters(ProblemFilter)
export class WebhooksResolver {
  constructor(private readonly store: WebhookStore) {}

  /** Of the tenant, oldest first: at most ten. */
  @Query(() => [WebhookType])
  @Allow('client')
  async webhooks(@Caller() caller: Principal): Promise<WebhookView[]> {
    return (await this.store.list(caller)).map(webhookView);
  }

  /** The newest deliveries. */
  @Query(() => [DeliveryType])
  @Allow('client')
  async webhookDeliveries(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
  ): Promise<DeliveryView[]> {
    return (await this.store.deliveries(caller, webhookId(id))).map(deliveryView);
  }

  @Mutation(() => ID)
  @Allow('client')
  async removeWebhook(@Caller() caller: Principal, @Args('id', { type: () => ID }) id: string): Promise<string> {
    await this.store.remove(caller, webhookId(id));
    return id;
  }

  /** Sends one again, under the same message id. */
  @Mutation(() => ID)
  @Allow('client')
  async retryDelivery(
    @Caller() caller: Principal,
    @Args('id', { type: () => ID }) id: string,
    @Args('delivery', { type: () => ID }) delivery: string,
  ): Promise<string> {
    await this.store.retry(caller, webhookId(id), read(DeliveryId, delivery, 'the id of a delivery'));
    return delivery;
  }
}
