/** How many jobs a tenant may have waiting and under way. Counts are kept for a moment: a limit may be passed by as many as came in it. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { TenantLimit } from '#libs/persistence';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { JobQueue } from './job-queue.js';

const keptMilliseconds = 1000;
const tenantsMax = 10_000;

@Injectable()
export class Quotas {
  readonly #waiting = new Map<string, { count: number; max: number; at: number }>();
  #busy: { tenants: readonly string[]; at: number } | null = null;

  constructor(
    private readonly queue: JobQueue,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Counts one more waiting job. @throws Rejection QUOTA_JOBS */
  async takeWaiting(manager: EntityManager, tenant: string): Promise<void> {
    const at = this.clock.now().getTime();
    let known = this.#waiting.get(tenant);
    if (known === undefined || at - known.at > keptMilliseconds) {
      const own = await manager.findOneBy(TenantLimit, { tenant });
      const max = own?.jobsWaitingMax ?? this.config.jobsWaitingMax;
      known = { count: await this.queue.waiting(manager, tenant), max, at };
      if (this.#waiting.size >= tenantsMax) this.#waiting.clear();
      this.#waiting.set(tenant, known);
    }
    if (known.count >= known.max) {
      throw refusal('QUOTA_JOBS', {
        expected: `at most ${known.max} jobs of a tenant in the queue`,
        got: `${known.count} already`,
        rule: 'apps/control-plane/README.md, scheduling',
        action: 'Wait until some have started, or cancel some.',
      });
    }
    known.count += 1;
  }

  /** Tenants that are given no further lease now. */
  async busy(manager: EntityManager): Promise<readonly string[]> {
    const at = this.clock.now().getTime();
    if (this.#busy === null || at - this.#busy.at > keptMilliseconds) {
      this.#busy = { tenants: await this.queue.busy(manager, this.config.jobsUnderWayMax), at };
    }
    return this.#busy.tenants;
  }
}
