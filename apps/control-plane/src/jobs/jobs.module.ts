/** Jobs: submitted, queued, steered and followed; their states in one table, their escrow as the chain has it. */
import { Module } from '@nestjs/common';
import { DataModule } from '../data/data.module.js';
import { DatasetRemoval } from './dataset-removal.js';
import { EscrowProjection } from './escrow-projection.js';
import { JobCommands } from './job-commands.js';
import { JobFeed } from './job-feed.js';
import { JobQueue } from './job-queue.js';
import { JobStream } from './job-stream.js';
import { Jobs } from './jobs.service.js';
import { JobJournal } from './journal.js';
import { Placement } from './placement.js';
import { Quotas } from './quotas.js';
import { Segments } from './segments.js';
import { SubmissionBatch } from './submission-batch.js';
import { Tenants } from './tenants.service.js';

@Module({
  imports: [DataModule],
  providers: [
    DatasetRemoval,
    EscrowProjection,
    JobCommands,
    JobFeed,
    JobJournal,
    JobQueue,
    JobStream,
    Jobs,
    Placement,
    Quotas,
    Segments,
    SubmissionBatch,
    Tenants,
  ],
  exports: [
    DatasetRemoval,
    EscrowProjection,
    JobCommands,
    JobFeed,
    JobJournal,
    JobQueue,
    JobStream,
    Jobs,
    Placement,
    Quotas,
    Segments,
    Tenants,
  ],
})
export class JobsModule {}
