/** What tenants are told of their jobs, and where. */
import { Module } from '@nestjs/common';
import { WebhookDeliverer } from './deliverer.js';
import { WebhookStore } from './webhook-store.js';

@Module({
  providers: [WebhookStore, WebhookDeliverer],
  exports: [WebhookStore],
})
export class WebhooksModule {}
