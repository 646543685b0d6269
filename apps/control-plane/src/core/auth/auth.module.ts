/** Who asks, and at what rate: API keys, roles, refusals. */
import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { OverloadModule } from '../overload/overload.module.js';
import { TimingModule } from '../timing/timing.module.js';
import { ApiKeys } from './api-keys.js';
import { Denials } from './denials.js';
import { IdentityProvider } from './identity-provider.js';
import { KeyWatch } from './key-watch.js';
import { Mine } from './me.js';
import { People } from './people.js';
import { Sessions } from './sessions.js';

@Module({
  imports: [AuditModule, OverloadModule, TimingModule],
  providers: [ApiKeys, Denials, IdentityProvider, KeyWatch, Mine, People, Sessions],
  exports: [ApiKeys, Denials, IdentityProvider, Mine, People, Sessions],
})
export class AuthModule {}
