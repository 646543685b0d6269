/** What is to stand in the transparency log goes into the transaction of the change that it speaks of. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { LogOutboxEntry } from '#libs/persistence';
import type { Config } from '../config/config.js';
import { CONFIG } from '../config/tokens.js';
import { Clock } from '../timing/clock.js';

export interface DuePolicy {
  /** 0x-hexadecimal. */
  readonly digest: string;
  /** A job that was submitted under it. */
  readonly job: string;
}

@Injectable()
export class LogOutbox {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** False where no log is set: then nothing is kept for one. */
  get isUsed(): boolean {
    return this.config.log !== null;
  }

  /** Each policy once, whoever submits under it. */
  async policies(manager: EntityManager, policies: readonly DuePolicy[]): Promise<void> {
    const jobs = new Map(policies.map(({ digest, job }) => [digest, job]));
    // In one order, so that no two transactions wait for each other.
    const digests = [...jobs.keys()].toSorted();
    await this.insert(
      manager,
      digests.map((subject) => ({ kind: 'policy', subject, data: { job: jobs.get(subject) } })),
    );
  }

  /** The bundles of these jobs are there, or are others than before. */
  async bundles(manager: EntityManager, jobIds: readonly string[]): Promise<void> {
    await this.insert(
      manager,
      jobIds.map((subject) => ({ kind: 'job-bundle', subject, data: {} })),
    );
  }

  private async insert(
    manager: EntityManager,
    due: readonly Pick<LogOutboxEntry, 'kind' | 'subject' | 'data'>[],
  ): Promise<void> {
    if (!this.isUsed || due.length === 0) return;
    const createdAt = this.clock.now();
    const rows = due.map((one) => ({ ...one, attempts: 0, nextAt: createdAt, createdAt }) as object);
    await manager.createQueryBuilder().insert().into(LogOutboxEntry).values(rows).orIgnore().execute();
  }
}
