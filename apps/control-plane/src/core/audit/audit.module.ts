/** Who did what, and the chain of digests over it. */
import { Module } from '@nestjs/common';
import { TimingModule } from '../timing/timing.module.js';
import { AuditChain } from './audit-chain.js';
import { AuditHeads } from './audit-heads.js';
import { AuditList } from './audit-list.js';
import { AuditLog } from './audit-log.js';

@Module({
  imports: [TimingModule],
  providers: [AuditChain, AuditHeads, AuditList, AuditLog],
  exports: [AuditChain, AuditList, AuditLog],
})
export class AuditModule {}
