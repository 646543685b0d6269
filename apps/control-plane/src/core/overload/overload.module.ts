/** Bounds on what comes in: bodies, connections, streams, and what is shed while the process is behind. */
import { Module } from '@nestjs/common';
import { Bodies } from './body.js';
import { Shedding } from './shedding.js';
import { Streams } from './streams.js';

@Module({
  providers: [Bodies, Shedding, Streams],
  exports: [Bodies, Shedding, Streams],
})
export class OverloadModule {}
