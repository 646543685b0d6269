/** Heartbeats keep leases alive and carry back which of them were cancelled or lost. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { Lease } from '#libs/persistence';
import type { HeartbeatAnswer, LeaseRef } from '#libs/wire';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import { expiryFrom } from './expiry.js';

@Injectable()
export class Heartbeats {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** A lease is renewed as long as its row is active; only the sweeper decides that it has expired. */
  async beat(nodeId: string, refs: readonly LeaseRef[]): Promise<HeartbeatAnswer> {
    if (refs.length === 0) return { cancel: [], lost: [] };
    const { manager } = this.database;
    const rows = await manager.findBy(Lease, { id: In(refs.map((ref) => ref.leaseId)), nodeId });
    const byId = new Map(rows.map((row) => [row.id, row]));
    const cancel: string[] = [];
    const lost: string[] = [];
    const alive: string[] = [];
    for (const ref of refs) {
      const lease = byId.get(ref.leaseId);
      if (lease?.state === 'cancelled') cancel.push(ref.leaseId);
      else if (lease === undefined || lease.fence !== ref.fence) lost.push(ref.leaseId);
      else if (lease.state === 'active') alive.push(ref.leaseId);
      else if (lease.state !== 'done') lost.push(ref.leaseId);
    }
    if (alive.length > 0) {
      const expiresAt = expiryFrom(this.clock.now(), this.config);
      await manager.update(Lease, { id: In(alive), state: 'active' }, { expiresAt });
    }
    return { cancel, lost };
  }
}
