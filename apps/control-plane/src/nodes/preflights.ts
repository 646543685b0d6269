/** What preflights found on the hosts of nodes, as their operators posted it: kept to be read, believed by nobody. */
import { Injectable } from '@nestjs/common';
import { DataSource, LessThanOrEqual, type EntityManager } from 'typeorm';
import { z } from 'zod';
import { NodePreflight, NodeRecord } from '#libs/persistence';
import { PreflightReport } from '#libs/wire';
import { AuditLog } from '../core/audit/audit-log.js';
import { seesTenant, type Principal } from '../core/auth/principal.js';
import { Clock } from '../core/timing/clock.js';
import { unknownNode } from './unknown-node.js';

export const PreflightView = PreflightReport.extend({
  id: z.string(),
  /** No check of it is missing. */
  ok: z.boolean(),
  postedAt: z.iso.datetime(),
  /** API key id. */
  postedBy: z.string(),
}).meta({ id: 'Preflight' });
export type PreflightView = z.infer<typeof PreflightView>;

/** Of one node; the oldest go first. */
export const preflightsMax = 10;

@Injectable()
export class Preflights {
  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly clock: Clock,
  ) {}

  /** @throws Rejection NODE_UNKNOWN where the node is not the caller's */
  async post(principal: Principal, nodeId: string, report: PreflightReport): Promise<PreflightView> {
    return this.database.transaction(async (manager) => {
      const node = await manager.findOne(NodeRecord, { where: { id: nodeId }, lock: { mode: 'pessimistic_write' } });
      if (node === null || !seesTenant(principal, node.tenant)) throw unknownNode(nodeId);
      const row = { nodeId, report, postedAt: this.clock.now(), postedBy: principal.keyId };
      const kept = await manager.save(NodePreflight, manager.create(NodePreflight, row));
      await this.forget(manager, nodeId);
      const cause = { actor: principal.keyId, tenant: principal.tenant };
      await this.auditLog.audit(manager, cause, 'node.preflight', nodeId);
      return view(kept);
    });
  }

  /** Newest first. @throws Rejection NODE_UNKNOWN where the node is not the caller's */
  async of(principal: Principal, nodeId: string): Promise<PreflightView[]> {
    const { manager } = this.database;
    const node = await manager.findOneBy(NodeRecord, { id: nodeId });
    if (node === null || !seesTenant(principal, node.tenant)) throw unknownNode(nodeId);
    const rows = await manager.find(NodePreflight, { where: { nodeId }, order: { id: 'DESC' }, take: preflightsMax });
    return rows.map(view);
  }

  private async forget(manager: EntityManager, nodeId: string): Promise<void> {
    const [first] = await manager.find(NodePreflight, {
      where: { nodeId },
      order: { id: 'DESC' },
      skip: preflightsMax,
      take: 1,
    });
    if (first !== undefined) await manager.delete(NodePreflight, { nodeId, id: LessThanOrEqual(first.id) });
  }
}

function view({ id, postedAt, postedBy, report: stored }: NodePreflight): PreflightView {
  const report = stored as PreflightReport;
  const ok = report.checks.every(({ state }) => state !== 'missing');
  return { ...report, id: String(id), ok, postedAt: postedAt.toISOString(), postedBy };
}
