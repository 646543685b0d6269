/** The modules that every capability uses. */
import { Global, Module } from '@nestjs/common';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { EventsModule } from './events/events.module.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { ObjectsModule } from './objects/objects.module.js';
import { OverloadModule } from './overload/overload.module.js';
import { ProblemModule } from './problem/problem.module.js';
import { TimingModule } from './timing/timing.module.js';

const modules = [
  AuditModule,
  AuthModule,
  EventsModule,
  IdempotencyModule,
  ObjectsModule,
  OverloadModule,
  ProblemModule,
  TimingModule,
];

@Global()
@Module({ imports: modules, exports: modules })
export class CoreModule {}
