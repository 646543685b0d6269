/** Machines that offer to run jobs, and whether they are there. */
import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module.js';
import { Nodes } from './nodes.service.js';
import { Preflights } from './preflights.js';
import { Presences } from './presences.js';

@Module({
  imports: [JobsModule],
  providers: [Nodes, Preflights, Presences],
  exports: [Nodes, Preflights, Presences],
})
export class NodesModule {}
