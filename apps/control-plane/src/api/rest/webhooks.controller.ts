import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { httpUrl } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import type { Config } from '../../core/config/config.js';
import { CONFIG } from '../../core/config/tokens.js';
import { ShownOnce } from '../../core/idempotency/idempotency.interceptor.js';
import { refusal } from '../../core/problem/codes.js';
import { jobStates } from '../../jobs/state-machine.js';
import { namesClosedHost } from '../../webhooks/public-address.js';
import { WebhookStore } from '../../webhooks/webhook-store.js';
import {
  DeliveryId,
  DeliveryView,
  deliveryView,
  WebhookId,
  WebhookView,
  webhookView,
} from '../../webhooks/webhook.view.js';

const CreateWebhook = z
  .object({
    /** https, of a public address. */
    url: httpUrl(1024),
    /** States that are told; empty: every one. */
    states: z.array(z.enum(jobStates)).max(jobStates.length).default([]),
  })
  .meta({ id: 'CreateWebhook' });

const CreatedWebhook = WebhookView.extend({
  /** `whsec_…`; it stands only in the first answer, a replay has none. */
  secret: z.string().optional(),
}).meta({ id: 'CreatedWebhook' });

@ApiTags('webhooks')
@ApiBearerAuth()
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    private readonly store: WebhookStore,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  @ShownOnce('secret')
  @Allow('client')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: CreatedWebhook })
  async create(
    @Caller() caller: Principal,
    @Body({ schema: CreateWebhook }) body: z.infer<typeof CreateWebhook>,
  ): Promise<z.infer<typeof CreatedWebhook>> {
    const url = new URL(body.url);
    const { protocol, username, password } = url;
    if (this.config.webhookTargets === 'public' && namesClosedHost(url)) {
      throw refusal('WEBHOOK_TARGET', {
        expected: 'a public address, or a name that resolves to one',
        got: url.hostname.slice(0, 80),
        rule: 'apps/control-plane/README.md, webhooks',
        action:
          'Name a host that the internet can reach; within a closed network VERITRAIN_WEBHOOK_TARGETS=any allows others.',
      });
    }
    if ((protocol !== 'https:' && this.config.webhookTargets === 'public') || username !== '' || password !== '') {
      throw refusal('WEBHOOK_TARGET', {
        expected: 'an https URL without a user name',
        got: protocol === 'https:' ? 'a user name' : protocol,
        rule: 'apps/control-plane/README.md, webhooks',
        action: 'Name an https URL; deliveries are signed, so none needs a user name.',
      });
    }
    const webhook = await this.store.add(caller, body);
    return { ...webhookView(webhook), secret: `whsec_${webhook.secret.toString('base64')}` };
  }

  @Get()
  @Allow('client')
  @ApiResponse({ status: 200, standardSchema: z.array(WebhookView) })
  async list(@Caller() caller: Principal): Promise<z.infer<typeof WebhookView>[]> {
    return (await this.store.list(caller)).map(webhookView);
  }

  @Delete(':id')
  @HttpCode(204)
  @Allow('client')
  remove(@Caller() caller: Principal, @Param('id', { schema: WebhookId }) id: string): Promise<void> {
    return this.store.remove(caller, id);
  }

  /** The newest deliveries. */
  @Get(':id/deliveries')
  @Allow('client')
  @ApiResponse({ status: 200, standardSchema: z.array(DeliveryView) })
  async deliveries(
    @Caller() caller: Principal,
    @Param('id', { schema: WebhookId }) id: string,
  ): Promise<z.infer<typeof DeliveryView>[]> {
    return (await this.store.deliveries(caller, id)).map(deliveryView);
  }

  /** Sends one again, under the same message id. */
  @Post(':id/deliveries/:delivery/retry')
  @HttpCode(202)
  @Allow('client')
  @ApiHeader({ name: 'idempotency-key', required: true })
  retry(
    @Caller() caller: Principal,
    @Param('id', { schema: WebhookId }) id: string,
    @Param('delivery', { schema: DeliveryId }) delivery: string,
  ): Promise<void> {
    return this.store.retry(caller, id, delivery);
  }
}
