/** What policies of jobs said of evidence, of a node or for a job: which firmware they saw, what would refuse it and why. */
import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { z } from 'zod';
import { Lease, NodeRecord, Renewal, Verdict } from '#libs/persistence';
import { Hex32, Uuid } from '#libs/wire';
import { seesTenant, type Principal } from '../core/auth/principal.js';
import { unknownNode } from '../nodes/unknown-node.js';

export const AppraisalCheck = z
  .object({ code: z.string(), status: z.string(), got: z.string(), rule: z.string() })
  .meta({ id: 'AppraisalCheck' });

export const AppraisalView = z
  .object({
    leaseId: Uuid,
    jobId: Hex32,
    at: z.iso.datetime(),
    tier: z.string(),
    /** Fresh evidence of a session that was at work. */
    renewal: z.boolean(),
    /** How the lease stands: `active`, `done`, `failed`, `refused`, `expired`, `cancelled`; and with which code it ended. */
    lease: z.string(),
    leaseCode: z.string().nullable(),
    checks: z.array(AppraisalCheck),
  })
  .meta({ id: 'Appraisal' });
export type AppraisalView = z.infer<typeof AppraisalView>;

/** The newest; of so many leases. */
const shownMax = 50;

@Injectable()
export class Appraisals {
  constructor(private readonly database: DataSource) {}

  /** Newest first. @throws Rejection NODE_UNKNOWN where the node is not the caller's */
  async of(principal: Principal, nodeId: string): Promise<AppraisalView[]> {
    const { manager } = this.database;
    const node = await manager.findOneBy(NodeRecord, { id: nodeId });
    if (node === null || !seesTenant(principal, node.tenant)) throw unknownNode(nodeId);
    return this.among({ nodeId });
  }

  /** Of whatever nodes offered evidence for it, newest first; whoever asks may see the job. */
  ofJob(jobId: string): Promise<AppraisalView[]> {
    return this.among({ jobId });
  }

  private async among(where: { readonly nodeId: string } | { readonly jobId: string }): Promise<AppraisalView[]> {
    const { manager } = this.database;
    const leases = await manager.find(Lease, { where, order: { acquiredAt: 'DESC' }, take: shownMax });
    const among = { leaseId: In(leases.map(({ id }) => id)) };
    const known = new Map(leases.map((lease) => [lease.id, lease]));
    const first = await manager.findBy(Verdict, among);
    const renewed = await manager.find(Renewal, { where: among, order: { at: 'DESC' }, take: shownMax });
    const all = [
      ...first.map((row) => view(row, known.get(row.leaseId)!, false)),
      ...renewed.map((row) => view(row, known.get(row.leaseId)!, true)),
    ];
    return all.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, shownMax);
  }
}

function view(
  { leaseId, jobId, tier, checks, at }: Pick<Verdict, 'leaseId' | 'jobId' | 'tier' | 'checks' | 'at'>,
  { state, endCode }: Lease,
  renewal: boolean,
): AppraisalView {
  const stored = checks as readonly Partial<z.infer<typeof AppraisalCheck>>[];
  return {
    ...{ leaseId, jobId, tier, renewal, lease: state, leaseCode: endCode },
    at: new Date(1000 * Number(at)).toISOString(),
    checks: stored.map(({ code = '', status = '', got = '', rule = '' }) => ({ code, status, got, rule })),
  };
}
