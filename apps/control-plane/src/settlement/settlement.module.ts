/** The escrow contract: its events read and kept, and what its owner sees. */
import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.js';
import { Earnings } from './earnings.js';
import { Escrows } from './escrows.js';
import { EscrowEventStore } from './event-store.js';
import { EscrowWatcher } from './watcher.js';

@Module({
  imports: [JobsModule],
  providers: [Earnings, EscrowEventStore, EscrowWatcher, Escrows],
  exports: [Earnings, EscrowWatcher, Escrows],
})
export class SettlementModule {}
