/** Escrows as their jobs' owners see them. */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { EscrowEventRecord } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { projectStored } from '../jobs/escrow-projection.js';
import { Jobs } from '../jobs/jobs.service.js';
import { escrowView, type EscrowView } from './escrow.view.js';

@Injectable()
export class Escrows {
  constructor(
    private readonly database: DataSource,
    private readonly jobs: Jobs,
  ) {}

  /** @throws Rejection JOB_UNKNOWN */
  async find(caller: Principal, jobId: string): Promise<EscrowView> {
    const job = await this.jobs.find(caller, jobId);
    const events = await this.database.manager.find(EscrowEventRecord, {
      where: { escrowId: job.escrowId },
      order: { blockNumber: 'ASC', logIndex: 'ASC' },
    });
    return escrowView(job, projectStored(events));
  }
}
