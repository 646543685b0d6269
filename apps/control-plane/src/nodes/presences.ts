/** Marks nodes as heard of and reads what dispatch needs to know of them, many at a time. */
import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { Lease, NodeRecord } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { apartMilliseconds, Batches, type Outcome } from '../core/timing/batches.js';
import { Clock } from '../core/timing/clock.js';
import { JobQueue } from '../jobs/job-queue.js';
import { unknownNode } from './unknown-node.js';

/** A node heard of within this time is not marked again. */
const markedMilliseconds = 500;

export interface Presence {
  readonly node: NodeRecord;
  /** A policy has refused it. */
  readonly isRefused: boolean;
  /** Its leases that run. */
  readonly active: readonly Lease[];
}

interface Heard {
  readonly tenant: string;
  readonly nodeId: string;
}

@Injectable()
export class Presences {
  readonly #hear: (heard: Heard) => Promise<Presence>;

  constructor(
    private readonly database: DataSource,
    private readonly queue: JobQueue,
    private readonly clock: Clock,
    batches: Batches,
  ) {
    this.#hear = batches.make({ size: 200, rounds: 1, apartMilliseconds }, (heard) => this.hear(heard));
  }

  /** The operator's own node, marked as heard of now. @throws Rejection NODE_UNKNOWN */
  of({ tenant }: Principal, nodeId: string): Promise<Presence> {
    return this.#hear({ tenant, nodeId });
  }

  private async hear(heard: readonly Heard[]): Promise<Outcome<Presence>[]> {
    const { manager } = this.database;
    const ids = [...new Set(heard.map(({ nodeId }) => nodeId))];
    const nodes = new Map((await manager.findBy(NodeRecord, { id: In(ids) })).map((node) => [node.id, node]));
    const own = heard.filter(({ tenant, nodeId }) => nodes.get(nodeId)?.tenant === tenant);
    await this.mark([...new Set(own.map(({ nodeId }) => nodes.get(nodeId)!))]);
    const refused = new Set(await this.queue.refused(manager, ids));
    const active = await manager.findBy(Lease, { nodeId: In(ids), state: 'active' });
    return heard.map((one) => {
      if (!own.includes(one)) return { error: unknownNode(one.nodeId) };
      const { nodeId } = one;
      const value = { node: nodes.get(nodeId)!, isRefused: refused.has(nodeId) };
      return { value: { ...value, active: active.filter((lease) => lease.nodeId === nodeId) } };
    });
  }

  private async mark(nodes: readonly NodeRecord[]): Promise<void> {
    const lastSeenAt = this.clock.now();
    const before = lastSeenAt.getTime() - markedMilliseconds;
    const late = nodes.filter((node) => node.lastSeenAt.getTime() < before).map(({ id }) => id);
    if (late.length > 0) await this.database.manager.update(NodeRecord, { id: In(late) }, { lastSeenAt });
  }
}
