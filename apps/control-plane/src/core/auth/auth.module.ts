/** Who asks, and at what rate: API keys, roles, refusals. */
import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { OverloadModule } from '../overload/overload.module.js';
import { TimingModule } from '../timing/timing.module.js';
import { ApiKeys } from './api-keys.js';
import { Denials } from './denials.js';
import { KeyWatch } from './key-watch.js';
import { Sessions } from './sessions.js';

@Module({
  imports: [AuditModule, OverloadModule, TimingModule],
  providers: [ApiKeys, Denials, KeyWatch, Sessions],
  exports: [ApiKeys, Denials, Sessions],
})
export class AuthModule {}
