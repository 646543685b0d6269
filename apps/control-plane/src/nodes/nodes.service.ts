/** Nodes: machines of operators that offer to run jobs. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { NodeRecord, nodeStates, type NodeState } from '#libs/persistence';
import {
  Address,
  isSpoken,
  NodeCapabilities,
  protocolVersion,
  Uuid,
  type NodeRegister,
  type NodeRegistered,
} from '#libs/wire';
import { AuditLog } from '../core/audit/audit-log.js';
import { seesTenant, type Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { pageOf, type Page } from '../core/paging.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { onlineSince } from '../core/timing/online.js';
import { atWork, type AtWork } from './at-work.js';
import { nodeIdOf } from './node-id.js';
import { unknownNode } from './unknown-node.js';

export const NodeView = z
  .object({
    id: Uuid,
    name: z.string(),
    provider: Address,
    capabilities: NodeCapabilities,
    /** `ready` takes jobs, `cordoned` takes no new ones, `draining` hands its own back at their next checkpoint. */
    state: z.enum(nodeStates),
    /** Heard of within three heartbeats. */
    online: z.boolean(),
    lastSeenAt: z.iso.datetime(),
    createdAt: z.iso.datetime(),
    /** Leases that run; null for whom it is not. */
    leases: z.int().nullable(),
    /** When the newest evidence of its leases was judged; null: none was yet, or it is not for who asks. */
    evidenceAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Node' });
export type NodeView = z.infer<typeof NodeView>;
export const NodePage = z
  .object({ items: z.array(NodeView), nextCursor: z.string().nullable() })
  .meta({ id: 'NodePage' });

const noWork: ReadonlyMap<string, AtWork> = new Map();

@Injectable()
export class Nodes {
  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** A node that registers again under its name keeps its id. @throws Rejection NODE_PROVIDER, PROTOCOL_VERSION */
  async register(principal: Principal, message: NodeRegister): Promise<NodeRegistered> {
    const { tenant } = principal;
    const { name, provider, capabilities } = message;
    if (provider !== principal.provider) {
      throw refusal('NODE_PROVIDER', {
        expected: `the account of this key, ${principal.provider ?? 'which has none'}`,
        got: provider,
        rule: 'apps/control-plane/README.md, nodes',
        action: 'Register with the key that is bound to this account.',
      });
    }
    if (!isSpoken(message.protocol)) {
      throw refusal('PROTOCOL_VERSION', {
        expected: `dispatch protocol ${protocolVersion} or a neighbour of it`,
        got: String(message.protocol),
        rule: 'apps/control-plane/README.md, nodes',
        action: 'Upgrade the older side, one version at a time.',
      });
    }
    const at = this.clock.now();
    const known = { provider, capabilities, lastSeenAt: at };
    const row = { id: nodeIdOf(tenant, name), tenant, name, createdAt: at, ...known };
    const { manager } = this.database;
    await manager.createQueryBuilder().insert().into(NodeRecord).values(row).orIgnore().execute();
    await manager.update(NodeRecord, { tenant, name }, known);
    const { id } = await manager.findOneByOrFail(NodeRecord, { tenant, name });
    return {
      nodeId: id,
      heartbeatSeconds: this.config.heartbeatSeconds,
      leaseSeconds: this.config.leaseSeconds,
      protocol: protocolVersion,
    };
  }

  /** Nodes are offers: every tenant sees them; operators see their own. */
  async list(principal: Principal, limit: number, after: string | undefined): Promise<Page<NodeView>> {
    const query = this.database.manager
      .createQueryBuilder(NodeRecord, 'n')
      .orderBy('n.id')
      .limit(limit + 1);
    if (principal.role === 'operator') query.andWhere('n.tenant = :tenant', { tenant: principal.tenant });
    if (after !== undefined) query.andWhere('n.id > :after', { after });
    const nodes = await query.getMany();
    const own = nodes.filter(({ tenant }) => seesTenant(principal, tenant)).map(({ id }) => id);
    const work = own.length === 0 ? noWork : await atWork(this.database.manager, own);
    return pageOf(
      nodes,
      limit,
      (node) => node.id,
      (node) => this.view(node, work.get(node.id)),
    );
  }

  async find(principal: Principal, id: string): Promise<NodeView> {
    const node = await this.database.manager.findOneBy(NodeRecord, { id });
    const isHidden = principal.role === 'operator' && node !== null && !seesTenant(principal, node.tenant);
    if (node === null || isHidden) throw unknownNode(id);
    return this.seen(principal, node);
  }

  /** @throws Rejection NODE_UNKNOWN when it is not the caller's, who is no administrator */
  async own(principal: Principal, id: string): Promise<NodeView> {
    const node = await this.database.manager.findOneBy(NodeRecord, { id });
    if (node === null || !seesTenant(principal, node.tenant)) throw unknownNode(id);
    return this.seen(principal, node);
  }

  /** Whether the node is given jobs. @throws Rejection NODE_UNKNOWN when it is not the caller's, who is no administrator */
  async schedule(principal: Principal, id: string, state: NodeState): Promise<NodeView> {
    return this.database.transaction(async (manager) => {
      const node = await manager.findOne(NodeRecord, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (node === null || !seesTenant(principal, node.tenant)) throw unknownNode(id);
      if (node.state !== state) {
        await manager.update(NodeRecord, { id }, { state });
        await this.auditLog.audit(manager, { actor: principal.keyId, tenant: principal.tenant }, `node.${state}`, id);
      }
      return this.seen(principal, Object.assign(node, { state }), { manager });
    });
  }

  /** Nodes not heard of since then are taken as gone. */
  onlineSince(): Date {
    return onlineSince(this.clock, this.config);
  }

  private async seen(principal: Principal, node: NodeRecord, { manager }: Pick<DataSource, 'manager'> = this.database) {
    const work = seesTenant(principal, node.tenant) ? await atWork(manager, [node.id]) : noWork;
    return this.view(node, work.get(node.id));
  }

  private view(node: NodeRecord, { leases, evidenceAt }: Partial<AtWork> = {}): NodeView {
    return {
      id: node.id,
      name: node.name,
      provider: node.provider,
      capabilities: node.capabilities as NodeView['capabilities'],
      state: node.state,
      online: node.lastSeenAt > this.onlineSince(),
      lastSeenAt: node.lastSeenAt.toISOString(),
      createdAt: node.createdAt.toISOString(),
      leases: leases ?? null,
      evidenceAt: evidenceAt ?? null,
    };
  }
}
