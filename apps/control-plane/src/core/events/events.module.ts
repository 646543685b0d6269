/** Events on their way out: outbox, NATS, other replicas; and messages that could not be taken. */
import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { OverloadModule } from '../overload/overload.module.js';
import { TimingModule } from '../timing/timing.module.js';
import { Bus } from './bus.js';
import { DeadLetters } from './dead-letters.js';
import { EventTail } from './event-tail.js';
import { LogOutbox } from './log-outbox.js';
import { OutboxRelay } from './outbox-relay.js';

@Module({
  imports: [AuditModule, OverloadModule, TimingModule],
  providers: [Bus, DeadLetters, EventTail, LogOutbox, OutboxRelay],
  exports: [DeadLetters, LogOutbox, OutboxRelay, EventTail],
})
export class EventsModule {}
