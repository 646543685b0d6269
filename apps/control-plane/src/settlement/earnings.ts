/** What an operator's account was paid, job by job, from the chain's confirmed events. */
import { Injectable } from '@nestjs/common';
import { DataSource, In, LessThan, type SelectQueryBuilder } from 'typeorm';
import { z } from 'zod';
import { EscrowEventRecord, Job, Lease } from '#libs/persistence';
import { Hex32 } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { decodeCursor, pageOf } from '../core/paging.js';
import { projectStored } from '../jobs/escrow-projection.js';
import { EscrowPayment, escrowView } from './escrow.view.js';

export const EarningView = z
  .object({
    jobId: Hex32,
    state: z.string(),
    escrowState: z.string(),
    /** What the escrow holds or held for this account. */
    priceWei: z.string(),
    earnedWei: z.string(),
    /** To this account alone. */
    payments: z.array(EscrowPayment),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Earning' });
type EarningView = z.infer<typeof EarningView>;
export const EarningPage = z
  .object({ items: z.array(EarningView), nextCursor: z.string().nullable() })
  .meta({ id: 'EarningPage' });
export type EarningPage = z.infer<typeof EarningPage>;

interface PaidNode {
  readonly id: string;
  /** Account that its operator is paid to. */
  readonly provider: string;
}

@Injectable()
export class Earnings {
  constructor(private readonly database: DataSource) {}

  /** Jobs that name the caller's account, or that its nodes had, newest first. */
  list({ provider, tenant }: Principal, limit: number, cursor: string | undefined): Promise<EarningPage> {
    const among = this.jobs().where(`(j.provider = :provider OR j.id IN ${this.leased('l.tenant = :tenant')})`, {
      provider,
      tenant,
    });
    return this.page(among, provider, limit, cursor);
  }

  /** What its account was paid for jobs that a node had, newest first. */
  ofNode(node: PaidNode, limit: number, cursor: string | undefined): Promise<EarningPage> {
    const among = this.jobs().where(`j.id IN ${this.leased('l.node_id = :id')}`, { id: node.id });
    return this.page(among, node.provider, limit, cursor);
  }

  private jobs(): SelectQueryBuilder<Job> {
    return this.database.manager.createQueryBuilder(Job, 'j').orderBy('j.seq', 'DESC');
  }

  private async page(
    query: SelectQueryBuilder<Job>,
    provider: string | null,
    limit: number,
    cursor: string | undefined,
  ): Promise<EarningPage> {
    query.limit(limit + 1);
    if (cursor !== undefined) query.andWhere({ seq: LessThan(decodeCursor(cursor)) });
    const jobs = await query.getMany();
    const events = await this.database.manager.find(EscrowEventRecord, {
      where: { escrowId: In(jobs.map(({ escrowId }) => escrowId)) },
      order: { blockNumber: 'ASC', logIndex: 'ASC' },
    });
    const of = (job: Job): EarningView =>
      earningOf(
        job,
        events.filter(({ escrowId }) => escrowId === job.escrowId),
        provider,
      );
    return pageOf(jobs, limit, ({ seq }) => seq, of);
  }

  private leased(which: string): string {
    const query = this.database.manager.createQueryBuilder(Lease, 'l').select('l.job_id').where(which);
    return `(${query.getQuery()})`;
  }
}

function earningOf(job: Job, events: readonly EscrowEventRecord[], provider: string | null): EarningView {
  const escrow = escrowView(job, projectStored(events));
  const isOurs = escrow.provider === provider;
  const payments = isOurs ? escrow.payments.filter(({ to }) => to === 'provider') : [];
  return {
    ...{ jobId: job.id, state: job.state, escrowState: escrow.state },
    ...{ priceWei: isOurs ? escrow.fundedWei : '0', payments },
    earnedWei: String(payments.reduce((sum, { amountWei }) => sum + BigInt(amountWei), 0n)),
    updatedAt: job.updatedAt.toISOString(),
  };
}
