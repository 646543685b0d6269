/** Who did what: one entry for each action, in the caller's transaction; the chain takes it up afterwards. */
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditEntry } from '#libs/persistence';
import { Clock } from '../timing/clock.js';

export interface Cause {
  /** API key id or `system`, and its tenant. */
  readonly actor: string;
  readonly tenant: string;
  /** Stable code; required for exits. */
  readonly code?: string;
  readonly reason?: Record<string, unknown>;
}

interface Audited {
  readonly cause: Cause;
  readonly action: string;
  readonly subject: string;
}

@Injectable()
export class AuditLog {
  constructor(protected readonly clock: Clock) {}

  audit(manager: EntityManager, cause: Cause, action: string, subject: string): Promise<void> {
    return this.auditAll(manager, [{ cause, action, subject }]);
  }

  async auditAll(manager: EntityManager, entries: readonly Audited[]): Promise<void> {
    const at = this.clock.now();
    await manager.insert(
      AuditEntry,
      entries.map(({ cause: { actor, tenant, code = null }, action, subject }) => ({
        ...{ at, tenant, actor, action, subject, code },
      })),
    );
  }
}
