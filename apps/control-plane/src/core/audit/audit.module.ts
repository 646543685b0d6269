/** Who did what, and the chain of digests over it. */
import { Module } from '@nestjs/common';
import { TimingModule } from '../timing/timing.module.js';
import { AuditChain } from './audit-chain.js';
import { AuditHeads } from './audit-heads.js';
import { AuditLog } from './audit-log.js';

@Module({
  imports: [TimingModule],
  providers: [AuditChain, AuditHeads, AuditLog],
  exports: [AuditChain, AuditLog],
})
export class AuditModule {}
