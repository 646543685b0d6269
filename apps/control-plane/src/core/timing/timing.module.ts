/** Time, periodic work, work done together, and wake-ups between who waits and who writes. */
import { Module } from '@nestjs/common';
import { Batches } from './batches.js';
import { Signals } from './signals.js';

@Module({
  providers: [Batches, Signals],
  exports: [Batches, Signals],
})
export class TimingModule {}
